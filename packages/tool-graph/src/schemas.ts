/** What the model sees of the three tools: names, descriptions, parameters. */
import type { ParameterSchemaSpec } from '@deepseek-ai/dsh-tools'

export const VIEW_TOOL = 'view_agent_graph'
export const UPDATE_TOOL = 'update_agent_graph'
export const YIELD_TOOL = 'yield_agent_graph'

export const GRAPH_TOOLS: ReadonlySet<string> = new Set([VIEW_TOOL, UPDATE_TOOL, YIELD_TOOL])

const graphId = {
  type: 'string',
  description: 'Leave out for the current graph of this session.',
} as const

export const VIEW_DESCRIPTION =
  'Read the agent graph: works with status, what they wait for, results. Not for polling: yield instead.'

export const VIEW_PARAMETERS = {
  graphId,
  mode: { type: 'string', enum: ['full', 'summary'], description: 'summary: counts and what runs.' },
  since: { type: 'integer', description: 'Only what changed after this seq of an earlier view.' },
  cursor: { type: 'string', description: 'nextCursor of the page before.' },
  results: {
    type: 'array',
    items: { type: 'string' },
    description: 'Whole conclusions of these works or records, at most 8; id@offset for a later page.',
  },
} as const satisfies ParameterSchemaSpec

export const UPDATE_DESCRIPTION =
  'Commit one decision on the agent graph: addWork (the first opens a graph), stop, retry, or finish. Nothing runs inside this call; ready works start right after it.'

export const OPERATIONS = ['add_work', 'stop', 'retry', 'finish'] as const

export const UPDATE_PARAMETERS = {
  graphId,
  operation: { type: 'string', enum: OPERATIONS, description: 'Only this payload is used.' },
  addWork: {
    type: 'array',
    description: 'At most 32 works.',
    items: {
      type: 'object',
      additionalProperties: true,
      properties: {
        workId: { type: 'string', description: 'A short id of your choice, unique in the graph.' },
        title: { type: 'string' },
        instruction: {
          type: 'string',
          required: true,
          description: 'The whole task: the operator sees nothing else but its inputs.',
        },
        inputIds: {
          type: 'array',
          items: { type: 'string' },
          description: 'Works (or records) whose results it needs.',
        },
        when: {
          type: 'string',
          enum: ['all', 'any', 'always'],
          description: 'Run if all inputs completed (default), any did, or always; else it is skipped.',
        },
        forEach: { type: 'string', description: 'One of inputIds: one work for each record of it.' },
        targetKind: { type: 'string', enum: ['new_agent', 'new_preset', 'existing_operator', 'code_graph'] },
        agentId: { type: 'string', description: 'Default: default.' },
        subagentId: { type: 'string', description: 'For new_preset.' },
        operatorId: { type: 'string', description: 'For existing_operator: its work; same history.' },
        graphName: { type: 'string', description: 'For code_graph.' },
        args: { type: 'object', additionalProperties: true, description: 'For code_graph.' },
        model: { type: 'string' },
        effort: { type: 'string' },
        replaces: { type: 'string', description: 'A work whose place this one takes.' },
        replacementMode: { type: 'string', enum: ['none', 'replace'] },
        replay: {
          type: 'string',
          enum: ['safe', 'confirm', 'model'],
          description: 'After a crash: run again (safe, default), ask a person, or ask you.',
        },
        selectedResultInputs: {
          type: 'array',
          description: 'Results of earlier graphs of this session.',
          items: {
            type: 'object',
            additionalProperties: false,
            properties: {
              sourceGraphId: { type: 'string', required: true },
              resultId: { type: 'string', required: true },
            },
          },
        },
      },
    },
  },
  stop: {
    type: 'array',
    items: {
      type: 'object',
      additionalProperties: false,
      properties: {
        targetId: { type: 'string', required: true, description: 'A work, an operator, or the graph.' },
        reason: { type: 'string', required: true },
        cascadeDownstream: { type: 'boolean', description: 'Also all that waits for it.' },
      },
    },
  },
  retry: {
    type: 'array',
    description: 'Works that failed or were stopped, or that wait for your confirmation.',
    items: {
      type: 'object',
      additionalProperties: false,
      properties: {
        workId: { type: 'string', required: true },
        reason: { type: 'string', required: true },
      },
    },
  },
  finish: {
    type: 'object',
    additionalProperties: false,
    description: 'Close the graph once nothing is pending.',
    properties: {
      resultIds: {
        type: 'array',
        items: { type: 'string' },
        required: true,
        description: 'Works (or records) that answer the task.',
      },
      reason: { type: 'string', required: true },
    },
  },
  draft: {
    type: 'string',
    enum: ['open', 'commit'],
    description: 'open: add works that do not run yet. commit: run them.',
  },
  idempotencyKey: { type: 'string', description: 'Same key, same update: committed once, in any turn.' },
} as const satisfies ParameterSchemaSpec

export const YIELD_DESCRIPTION =
  'End this turn while the works run. The session is woken by a message when something changed.'

export const YIELD_PARAMETERS = {
  graphId,
  reason: { type: 'string' },
  until: {
    type: 'string',
    enum: ['any', 'all'],
    description: 'any (default): the next change. all: nothing is pending any more.',
  },
} as const satisfies ParameterSchemaSpec
