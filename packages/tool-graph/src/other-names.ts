/**
 * What models write in place of the names that the schemas have. Keys are in plain form: lower case,
 * letters and digits only. Only what cannot be meant otherwise stands here.
 */
import type { Reading } from './clean-value.ts'

/** Names that models give the fields of this package, by the object that they stand in. */
export const ALIASES: Reading['aliases'] = {
  '': {
    add: 'addWork',
    work: 'addWork',
    works: 'addWork',
    addworks: 'addWork',
    retries: 'retry',
    stops: 'stop',
    action: 'operation',
    key: 'idempotencyKey',
    ids: 'results',
    recordids: 'results',
    resultids: 'results',
    sinceseq: 'since',
    nextcursor: 'cursor',
  },
  'addWork[]': {
    id: 'workId',
    instructions: 'instruction',
    prompt: 'instruction',
    task: 'instruction',
    dependson: 'inputIds',
    dependencies: 'inputIds',
    inputs: 'inputIds',
    inputid: 'inputIds',
    agent: 'agentId',
    preset: 'subagentId',
    presetid: 'subagentId',
    subagent: 'subagentId',
    operator: 'operatorId',
    graph: 'graphName',
    arguments: 'args',
    condition: 'when',
    kind: 'targetKind',
    replace: 'replaces',
  },
  'addWork[].selectedResultInputs[]': {
    graphid: 'sourceGraphId',
    recordid: 'resultId',
    workid: 'resultId',
    id: 'resultId',
  },
  'stop[]': {
    id: 'targetId',
    workid: 'targetId',
    operatorid: 'targetId',
    target: 'targetId',
    cascade: 'cascadeDownstream',
  },
  'retry[]': { id: 'workId', targetid: 'workId', work: 'workId' },
  finish: { results: 'resultIds', recordids: 'resultIds', workids: 'resultIds', result: 'resultIds' },
}

/** Words that models use for the allowed values, by field. */
export const VALUES: Reading['values'] = {
  targetKind: {
    agent: 'new_agent',
    preset: 'new_preset',
    subagent: 'new_preset',
    operator: 'existing_operator',
    graph: 'code_graph',
  },
  operation: { add: 'add_work', addworks: 'add_work' },
  when: { allsucceeded: 'all', anysucceeded: 'any' },
  replay: { ask: 'confirm' },
}

/** Fields that hold an id. */
export const NAMES: Reading['names'] = new Set([
  'graphId',
  'agentId',
  'subagentId',
  'operatorId',
  'graphName',
  'replaces',
  'forEach',
  'model',
  'cursor',
  'idempotencyKey',
])
