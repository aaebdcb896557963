/** The web profile as a browser would use it: over HTTP on 127.0.0.1. */
import { setTimeout as pause } from 'node:timers/promises'
import type { DshBench, DshProcess, Finished } from './dsh-process.ts'

/** An event of a session's log, as `session.history` tells it. */
export interface SessionEvent {
  readonly type: string
  readonly seq: number
  readonly data: Readonly<Record<string, unknown>>
}

/** Between two looks at a history. */
const LOOK_MS = 50
const PATIENCE_MS = 60_000

export class DshWeb {
  private readonly process: DshProcess | undefined
  /** Origin of the server, without a slash at its end. */
  readonly url: string
  private calls = 0

  private constructor(process: DshProcess | undefined, url: string) {
    this.process = process
    this.url = url
  }

  /** One that somebody else started, and ends. */
  static at(url: string): DshWeb {
    return new DshWeb(undefined, url)
  }

  /** Boots, by default on a free port; resolves when it serves. */
  static async boot(bench: DshBench, port = 0): Promise<DshWeb> {
    const process = bench.start('web', '--no-open', '--port', String(port))
    const [, url = ''] = await process.says(/dsh web: (http:\/\/127\.0\.0\.1:\d+)/u)
    return new DshWeb(process, url)
  }

  /** @throws Error with the server's words when the call is refused. */
  async call<T>(method: string, payload: object): Promise<T> {
    const response = await fetch(`${this.url}/api/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'client-request', rpcId: `test-${++this.calls}`, method, payload }),
    })
    const { result } = (await response.json()) as { result: { ok: boolean; value?: T; error?: unknown } }
    if (!result.ok) throw new Error(`${method}: ${JSON.stringify(result.error)}`)
    return result.value as T
  }

  async createSession(options: object): Promise<string> {
    return (await this.call<{ sessionId: string }>('session.create', options)).sessionId
  }

  prompt(sessionId: string, text: string): Promise<unknown> {
    return this.call('session.prompt', { sessionId, mode: 'queue', content: [{ type: 'text', text }] })
  }

  async history(sessionId: string): Promise<readonly SessionEvent[]> {
    const { events } = await this.call<{ events: readonly { readonly event: SessionEvent }[] }>(
      'session.history',
      { sessionId },
    )
    return events.map(({ event }) => event)
  }

  /** Looks at a session until its history passes. @throws Error with its last events when it never does. */
  async historyWhere(
    sessionId: string,
    passes: (events: readonly SessionEvent[]) => boolean,
  ): Promise<readonly SessionEvent[]> {
    const latest = Date.now() + PATIENCE_MS
    for (;;) {
      const events = await this.history(sessionId)
      if (passes(events)) return events
      if (Date.now() > latest)
        throw new Error(`${sessionId} did not get there: ${JSON.stringify(events.slice(-4))}`)
      await pause(LOOK_MS)
    }
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** As a machine that loses its power: nothing is written down any more. */
  kill(): Promise<void> {
    return this.own().kill()
  }

  /** As a service manager stops it. */
  stop(): Promise<Finished> {
    return this.own().stop('SIGTERM')
  }

  private own(): DshProcess {
    if (this.process === undefined) throw new Error(`${this.url} was started elsewhere`)
    return this.process
  }
}

/** Texts of the assistant's messages in a history, oldest first. */
export function answersIn(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap(({ type, data }) => {
    if (type !== 'assistant/message') return []
    const { content } = data['message'] as { content: readonly { type: string; text?: string }[] }
    return [content.map((block) => block.text ?? '').join('')]
  })
}
