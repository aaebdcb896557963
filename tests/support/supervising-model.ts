/**
 * The model of the end-to-end tests. It decides from what the wire shows it, as a model does: ids and
 * results come from messages and tool results, never from outside. One operator makes a nonce at run
 * time; it reaches the answer only by travelling through the third work.
 *
 * The first operator's answer is held back until the second one was asked, and the other way round:
 * a run that answers has had both at work at once.
 */
import { randomBytes } from 'node:crypto'
import type { WireRequest } from './chat-wire.ts'
import type { MockAnswer, Responder } from './mock-llm.ts'

export const ALPHA = 'Operator alpha: gather the first half.'
export const BETA = 'Operator beta: gather the second half.'
export const GAMMA = 'Operator gamma: join the halves you are given.'

const NONCE = /nonce ([0-9a-f]{24})/u

export interface SupervisingModel {
  readonly respond: Responder
  /** The nonce that the operator made, once it did. */
  readonly nonce: () => string | undefined
}

/** Whose request this is, told by what only that conversation holds. */
export function speakerOf(request: WireRequest): 'root' | 'alpha' | 'beta' | 'gamma' | 'title' {
  if (request.system.startsWith('Create a concise title')) return 'title'
  const heard = request.userTexts.join('\n')
  if (heard.includes(GAMMA)) return 'gamma'
  if (heard.includes(ALPHA)) return 'alpha'
  if (heard.includes(BETA)) return 'beta'
  return 'root'
}

const PLAN: MockAnswer = {
  text: 'Two halves in parallel, then a join.',
  toolCalls: [
    {
      name: 'update_agent_graph',
      arguments: {
        operation: 'add_work',
        addWork: [
          { workId: 'alpha', title: 'First half', instruction: ALPHA },
          { workId: 'beta', title: 'Second half', instruction: BETA },
          {
            workId: 'gamma',
            title: 'Join "halves" — übung',
            instruction: GAMMA,
            inputIds: ['alpha', 'beta'],
          },
        ],
      },
    },
  ],
}

const YIELD: MockAnswer = {
  toolCalls: [{ name: 'yield_agent_graph', arguments: { reason: 'operators are at work' } }],
}

function finishWith(record: string): MockAnswer {
  const finish = { resultIds: [record], reason: 'The join is the answer.' }
  return { toolCalls: [{ name: 'update_agent_graph', arguments: { operation: 'finish', finish } }] }
}

/** What the pattern's group holds. @throws Error with the text, which then fails the request. */
function find(pattern: RegExp, text: string): string {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`no ${pattern} in: ${text}`)
  return found
}

function rootAnswer(request: WireRequest): MockAnswer {
  const call = request.answeredCall
  const { lastSaid } = request
  if (call?.name === 'update_agent_graph' && call.result.includes(' finished, ')) {
    const nonce = find(NONCE, request.resultsOf('view_agent_graph').at(-1) ?? '')
    return { text: `The graph is done. The joined nonce ${nonce} is the answer.` }
  }
  if (call?.name === 'update_agent_graph') return YIELD
  if (call?.name === 'view_agent_graph')
    return finishWith(find(/<result record="(graph_record_[0-9a-f]{32})"/u, call.result))
  // A yield that is answered at once tells what changed, as a wake does.
  if (call?.name === 'yield_agent_graph') return nextAfter(call.result)
  if (call !== undefined) throw new Error(`the root expected no result of ${call.name}`)
  return lastSaid.startsWith('Agent graph ') ? nextAfter(lastSaid) : PLAN
}

function nextAfter(account: string): MockAnswer {
  if (!/\b0 pending\b/u.test(account)) return YIELD
  return { toolCalls: [{ name: 'view_agent_graph', arguments: { results: ['gamma'] } }] }
}

export function supervisingModel(): SupervisingModel {
  let nonce: string | undefined
  const asked = { alpha: Promise.withResolvers<void>(), beta: Promise.withResolvers<void>() }
  const answers: Record<ReturnType<typeof speakerOf>, Responder> = {
    title: () => ({ text: 'Two halves' }),
    root: rootAnswer,
    async alpha() {
      asked.alpha.resolve()
      await asked.beta.promise
      nonce ??= randomBytes(12).toString('hex')
      return { text: `The first half is nonce ${nonce}.` }
    },
    async beta() {
      asked.beta.resolve()
      await asked.alpha.promise
      return { text: 'The second half is <plain> & simple.' }
    },
    gamma(request) {
      const found = NONCE.exec(request.userTexts.join('\n'))?.[1]
      if (found === undefined) throw new Error('gamma was handed no nonce')
      return { text: `Joined: nonce ${found}.` }
    },
  }
  return { respond: (request) => answers[speakerOf(request)](request), nonce: () => nonce }
}
