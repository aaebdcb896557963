/**
 * The last step before a run's end is written: its payloads are read from its turn, and the hooks see the
 * reply. What they change or hold back is changed and held back in the payloads, too.
 */
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session'
import type { RunTale } from './replies/payloads.ts'
import type { ReplyOptions, ReplyPayload } from './replies/types.ts'
import { answeredMessageId } from './run-message.ts'
import { payloadsOf, type RunRecord, type Settlement } from './run-record.ts'
import { keptReply } from './session-trace.ts'
import type { RunPayload } from './types.ts'

/** The size of a settlement with everything in it, bytes as JSON; it is one entry of the log. */
const MAX_SETTLEMENT_BYTES = 3_900_000
const MAX_PAYLOADS = 1_000
/** What a payload has around its text, and the note on what was cut off. */
const PAYLOAD_FRAME_BYTES = 200
/** The most that one character becomes. */
const BYTES_PER_CHARACTER = 6

export interface LeavingPorts {
  readonly now: () => number
  readonly payloads: (
    events: readonly SessionEvent[],
    end: RunTale['end'],
    options: ReplyOptions,
  ) => readonly ReplyPayload[]
  /** What hooks make of a settlement: they change its reply or hold it back. */
  readonly outgoing: (run: RunRecord, settlement: Settlement) => Promise<Settlement>
}

/** @param run with its request. @param session where its turn was; none when it had none. */
export async function letOut(
  run: RunRecord,
  session: Session | undefined,
  settlement: Settlement,
  ports: LeavingPorts,
): Promise<Settlement> {
  const told = withPayloads(run, session, settlement, ports)
  const { payloads, ...out } = await ports.outgoing(run, told)
  if (out.reply === told.reply) return payloads === undefined ? out : { ...out, payloads }
  const reply = out.reply === undefined ? undefined : keptReply(out.reply)
  const changed = { ...out, ...(reply === undefined ? {} : { reply }) }
  return compact(changed, bounded(withReply(payloadsOf(told), reply), changed))
}

function withPayloads(
  run: RunRecord,
  session: Session | undefined,
  settlement: Settlement,
  { now, payloads }: LeavingPorts,
): Settlement {
  const { turn } = settlement
  if (session === undefined || turn === undefined) return settlement
  const { verbose = 'off', thinking = 'off' } = run.request ?? {}
  const told = payloads(eventsOf(session, turn, run.messageId), endOf(settlement, now()), {
    verbose: verbose !== 'off',
    reasoning: thinking === 'off' ? 'off' : 'on',
  })
  return compact(settlement, bounded(told, settlement))
}

/** The payloads are kept where reply and error do not say the same. */
function compact(settlement: Settlement, payloads: readonly RunPayload[]): Settlement {
  const isPlain = JSON.stringify(payloads) === JSON.stringify(payloadsOf(settlement))
  return isPlain ? settlement : { ...settlement, payloads: payloads.map(stored) }
}

/** No hook has seen what else the model said: it goes out only with the reply that it led to. */
function withReply(payloads: readonly RunPayload[], reply: string | undefined): readonly RunPayload[] {
  const kept = payloads.filter(({ kind }) => kind === 'error' || kind === 'tool')
  const hadAnswer = payloads.some(({ kind }) => kind === 'answer')
  return reply === undefined || !hadAnswer ? kept : [...kept, { kind: 'answer', text: reply }]
}

/** The turn from the run's message on. */
function eventsOf({ events }: Session, turn: number, messageId: string): readonly SessionEvent[] {
  const start = events.findLastIndex(({ type, data }) => type === 'turn/start' && data.turn === turn)
  const end = events.findIndex(({ type }, index) => index > start && type === 'turn/end')
  const ofTurn = events.slice(start, end < 0 ? undefined : end)
  const message = ofTurn.findIndex(
    ({ type, data }) => type === 'user/message' && answeredMessageId(data.id) === messageId,
  )
  return ofTurn.slice(message + 1)
}

function endOf({ state, error }: Settlement, endedAt: number): RunTale['end'] {
  if (state === 'ok') return { phase: 'end', state, endedAt }
  const why = error ?? { code: state, message: `the run ended as "${state}"` }
  return { phase: 'error', state, endedAt, error: why }
}

function bounded(payloads: readonly RunPayload[], settlement: Settlement): readonly RunPayload[] {
  const few = payloads.slice(-MAX_PAYLOADS)
  let room = MAX_SETTLEMENT_BYTES - bytesOf(settlement) - few.length * PAYLOAD_FRAME_BYTES
  return few.map(({ kind, text, images = [] }) => {
    const size = bytesOf(text) + bytesOf(images)
    const kept = size <= room ? text : text.slice(0, Math.max(0, Math.floor(room / BYTES_PER_CHARACTER)))
    room -= size <= room ? size : bytesOf(kept)
    const isWhole = kept.length === text.length
    return {
      kind,
      text: isWhole ? text : `${kept.toWellFormed()}\n[cut: ${text.length - kept.length} more characters]`,
      ...(isWhole && images.length > 0 ? { images } : {}),
    }
  })
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

function stored({ kind, text, images }: RunPayload) {
  return { kind, text, ...(images === undefined ? {} : { images: [...images] }) }
}
