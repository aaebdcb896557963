/**
 * The events of one run in this process: gives each its seq, keeps the newest in the ring, hands finals
 * to the writer and wakes who waits. Closed by the run's terminal event; nothing comes after it.
 */
import { isDurable } from './event-entries.ts'
import { EventRing, type RingLimits } from './event-ring.ts'
import { EventWriter, type WriterPorts } from './event-writer.ts'
import { TurnTranslator, type TranslatorPorts } from './turn-translator.ts'
import type { EventBody, LifecycleData, RunEvent } from './types.ts'

/**
 * The events of each attempt have this much room. An attempt is counted durably before its first event,
 * so that a process that goes on after a crash never gives a seq twice.
 */
export const ATTEMPT_ROOM = 10_000_000

export interface HubPorts extends WriterPorts, TranslatorPorts {
  readonly ring: RingLimits
  /** Told after each event. */
  readonly changed: (hub: RunHub) => void
}

export class RunHub {
  readonly runId: string
  readonly sessionId: string
  readonly ring: EventRing
  /** Whether the terminal event was told. */
  isOver = false
  readonly translator: TurnTranslator
  private readonly ports: HubPorts
  private readonly writer: EventWriter

  /** @param attempt how often the run was started before this process. */
  constructor(run: { runId: string; sessionId: string; attempt: number }, ports: HubPorts) {
    this.runId = run.runId
    this.sessionId = run.sessionId
    this.ports = ports
    const base = run.attempt * ATTEMPT_ROOM
    this.ring = new EventRing(base, ports.ring)
    this.writer = new EventWriter(run.runId, base, ports)
    this.translator = new TurnTranslator(ports)
  }

  tell(bodies: readonly EventBody[]): void {
    if (this.isOver || bodies.length === 0) return
    for (const body of bodies) this.push(body)
    this.ports.changed(this)
  }

  /** Ends what is open and tells the terminal event. Idempotent. */
  end(data: LifecycleData): void {
    if (this.isOver) return
    for (const body of this.translator.finish()) this.push(body)
    this.push({ stream: 'lifecycle', data })
    this.isOver = true
    void this.writer.flush()
    this.ports.changed(this)
  }

  /** Resolves when the log has the finals told so far, as far as it takes them. */
  flush(): Promise<void> {
    return this.writer.flush()
  }

  /** Whether the log is still to get some of the finals. */
  get hasUnwritten(): boolean {
    return this.writer.hasPending
  }

  private push(body: EventBody): void {
    const { runId, sessionId } = this
    const event = { runId, sessionId, seq: this.ring.lastSeq + 1, ts: this.ports.now(), ...body } as RunEvent
    this.ring.push(event)
    if (isDurable(event)) this.writer.add(event)
  }
}
