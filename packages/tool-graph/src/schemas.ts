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
  'Read the agent graph: works with status, operators, results. results: whole conclusions of these records. Not for polling: yield instead.'

export const VIEW_PARAMETERS = {
  graphId,
  cursor: { type: 'string', description: 'nextCursor of the page before.' },
  results: { type: 'array', items: { type: 'string' }, description: 'Record ids, at most 8.' },
} as const satisfies ParameterSchemaSpec

export const UPDATE_DESCRIPTION =
  'Commit one decision on the agent graph: addWork (the first update opens a graph), stop, or finish. Nothing runs inside this call; ready works start right after it.'

export const UPDATE_PARAMETERS = {
  graphId,
  operation: {
    type: 'string',
    enum: ['add_work', 'stop', 'finish'],
    description: 'Only this payload is used.',
  },
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
          description: 'Works (or records) whose results it needs; it starts when they are there.',
        },
        targetKind: { type: 'string', enum: ['new_agent', 'new_preset', 'existing_operator'] },
        agentId: { type: 'string', description: 'Default: default.' },
        subagentId: { type: 'string', description: 'For new_preset.' },
        operatorId: { type: 'string', description: 'For existing_operator: a follow-up, same history.' },
        replaces: { type: 'string', description: 'A work that this one supersedes.' },
        replacementMode: { type: 'string', enum: ['none', 'replace'] },
        replay: { type: 'string', enum: ['safe', 'confirm'], description: 'After a crash; default safe.' },
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
        description: 'Record ids that answer the task.',
      },
      reason: { type: 'string', required: true },
    },
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
