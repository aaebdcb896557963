/**
 * The graph under chaos: twelve works of every kind, what its root decides, and what its operators say.
 * Conclusions hold what the operator was handed, so a lost or a foreign input shows at the end. Pure.
 */
import type { GraphState } from 'dsh-graph-control'

export type Answer =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: string; readonly args: object }
  | { readonly kind: 'failure'; readonly code: string; readonly message: string }

const agent = (workId: string, more: object = {}) => ({ workId, instruction: `Work: ${workId}`, ...more })

const FIRST_WAVE: readonly object[] = [
  agent('a', { title: 'Measure the tower' }),
  // After a crash its root is asked whether it may run again.
  agent('c', { replay: 'model' }),
  agent('d'),
  {
    workId: 'list',
    instruction: 'Work: list',
    targetKind: 'code_graph',
    graphName: 'listing',
    args: { items: 2, ms: 20, fails: false },
  },
  agent('each', { inputIds: ['list'], forEach: 'list' }),
  agent('join', { inputIds: ['a', 'c'] }),
  agent('any', { inputIds: ['c', 'd'], when: 'any' }),
  agent('skipped', { inputIds: ['d'] }),
]

/** Once `a` has its operator. */
const SECOND_WAVE: readonly object[] = [
  agent('again', { inputIds: ['join'], targetKind: 'existing_operator', operatorId: 'a' }),
  agent('end', { inputIds: ['join', 'each', 'again', 'any', 'skipped'], when: 'always' }),
]

export const WORK_IDS = [
  'a',
  'c',
  'd',
  'list',
  'each',
  'each#1',
  'each#2',
  'join',
  'any',
  'skipped',
  'again',
  'end',
] as const

/** Works that an operator, or a code graph, was given: the others only join or were skipped. */
export const RUN_IDS = WORK_IDS.filter((workId) => workId !== 'each' && workId !== 'skipped')

/** What the root does next; it knows nothing but the state, as after a crash. */
export function rootAnswer(state: GraphState | undefined): Answer {
  const update = (args: object): Answer => ({ kind: 'call', tool: 'update_agent_graph', args })
  if (state === undefined || state.works.size === 0) return update({ addWork: FIRST_WAVE })
  const end = state.works.get('end')
  if (state.closed) return { kind: 'text', text: `The graph is done: ${summaryOf(state, end?.recordIds[0])}` }
  const held = heldWork(state)
  if (held !== undefined) return update({ retry: [{ workId: held, reason: 'it may run again' }] })
  const hasOperator = state.works.get('a')?.operatorId !== undefined
  if (hasOperator && end === undefined) return update({ addWork: SECOND_WAVE })
  if (state.counts.pending > 0) return { kind: 'call', tool: 'yield_agent_graph', args: {} }
  return update({ finish: { resultIds: end?.recordIds ?? [], reason: 'the end is there' } })
}

function heldWork(state: GraphState): string | undefined {
  for (const claimId of state.live.claims.keys()) {
    const claim = state.claims.get(claimId)
    if (claim?.hold?.kind === 'model') return claim.workId
  }
  return undefined
}

function summaryOf({ records }: GraphState, recordId: string | undefined): string {
  return records.get(recordId ?? '')?.summary ?? 'nothing'
}

const WORK = /^Work: (\S+)/u
const INPUT = /<input work="([^"]+)"[^>]*>\n([\s\S]*?)\n<\/input>/gu

export const MEASURE = 'measure'

/** A message, which is `isSaid`, or the result of a tool. */
export interface Told {
  readonly text: string
  readonly isSaid: boolean
}

/** @param told to the operator, in order; the last message that begins with `Work: ` is its work. */
export function operatorAnswer(told: readonly Told[]): Answer {
  const at = told.findLastIndex(({ text }) => WORK.test(text))
  const prompt = told[at]?.text ?? ''
  const [, workId = 'nothing'] = WORK.exec(prompt) ?? []
  if (workId === 'd') return { kind: 'failure', code: 'QUOTA', message: 'no money left' }
  const found = told.slice(at + 1).flatMap(({ isSaid, text }) => (isSaid ? [] : [text]))
  if (workId === 'a' && found.length === 0) return { kind: 'call', tool: MEASURE, args: { what: 'tower' } }
  const before = told.slice(0, at).flatMap(({ text }) => WORK.exec(text)?.[1] ?? [])
  const earlier = new Set(before.filter((other) => other !== workId))
  const parts = [
    ...[...prompt.matchAll(INPUT)].map(([, work, text]) => `${work} = ${text}`),
    ...[...earlier].map((other) => `after ${other}`),
    ...found,
  ]
  return { kind: 'text', text: `${workId}(${parts.join('; ')})` }
}
