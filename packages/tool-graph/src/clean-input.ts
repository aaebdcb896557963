/**
 * Preprocessors of `update_agent_graph`. Models fill optional fields they do not mean: nulls, empty
 * strings, empty lists, the identity fields of the targets they did not choose. What is clearly
 * unmeant is dropped here; what could be meant is left for validation to refuse.
 */

type Fields = Record<string, unknown>

/** Identity field that each target kind keeps; the others are dropped. */
const IDENTITY_OF: Readonly<Record<string, string>> = {
  new_agent: 'agentId',
  agent: 'agentId',
  new_preset: 'subagentId',
  preset: 'subagentId',
  existing_operator: 'operatorId',
  operator: 'operatorId',
}
const IDENTITIES = ['agentId', 'subagentId', 'operatorId'] as const

/** Payload field that each operation keeps; the others are dropped. */
const PAYLOAD_OF: Readonly<Record<string, string>> = { add_work: 'addWork', stop: 'stop', finish: 'finish' }
const PAYLOADS = ['addWork', 'stop', 'finish'] as const

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A shallow copy without null, undefined and blank strings: the ways a model says "not given". */
function given(value: Fields): Fields {
  return Object.fromEntries(
    Object.entries(value).filter(
      ([, field]) =>
        field !== null && field !== undefined && !(typeof field === 'string' && field.trim() === ''),
    ),
  )
}

/** One item of `addWork`. Anything that is not an object is returned as it is. */
export function cleanAddWorkInput(value: unknown): unknown {
  if (!isFields(value)) return value
  const item = given(value)
  const kept = typeof item['targetKind'] === 'string' ? IDENTITY_OF[item['targetKind']] : undefined
  if (kept !== undefined) for (const field of IDENTITIES) if (field !== kept) delete item[field]
  if (item['replacementMode'] === 'none') delete item['replaces']
  if (typeof item['instruction'] === 'string') item['instruction'] = item['instruction'].trim()
  return item
}

/** The whole argument object of `update_agent_graph`. */
export function cleanUpdateInput(value: unknown): unknown {
  if (!isFields(value)) return value
  const input = given(value)
  const kept = typeof input['operation'] === 'string' ? PAYLOAD_OF[input['operation']] : undefined
  if (kept !== undefined) for (const field of PAYLOADS) if (field !== kept) delete input[field]
  for (const field of ['addWork', 'stop'] as const) {
    const list = input[field]
    if (Array.isArray(list) && list.length === 0) delete input[field]
  }
  if (Array.isArray(input['addWork'])) input['addWork'] = input['addWork'].map(cleanAddWorkInput)
  if (isFields(input['finish']) && Object.keys(given(input['finish'])).length === 0) delete input['finish']
  return input
}
