/**
 * What the host answers to whoever comes through a door: the same for the web server, the loopback door
 * and the shell. Knows no transport; every payload is checked by the host itself or here.
 *
 * An operation that `mutates` is for a person or a plugin of this machine, never for a page of the web.
 */
import { z } from 'zod'
import { systemClock, type Clock } from '../clock.ts'
import { AgentLoopError } from '../errors.ts'
import type { AgentLoopHost } from '../types.ts'
import type { SubscribeRequest } from '../streams/types.ts'
import { lanesNews } from './lanes-stream.ts'
import { lanesText } from './lanes-text.ts'
import { QueueCommand } from './queue-command.ts'

/** One answer, or a stream of them that ends with its subscription or its signal. */
export type Operation =
  | {
      readonly kind: 'call'
      readonly mutates: boolean
      readonly call: (payload: unknown, signal: AbortSignal) => Promise<unknown>
    }
  | {
      readonly kind: 'stream'
      readonly mutates: false
      readonly stream: (payload: unknown, signal: AbortSignal) => AsyncIterable<unknown>
    }

export type AgentOperations = Readonly<Record<string, Operation>>

/** How long nothing must happen for a subscription that does not follow to be over, milliseconds. */
const QUIET_MS = 250

const id = z.string().min(1).max(508)
const payloads = {
  lanes: z.strictObject({ sessionId: id.optional() }),
  read: z.strictObject({ runId: id }),
  session: z.strictObject({ sessionId: id }),
  run: z.strictObject({ runId: id }),
  move: z.strictObject({ runId: id, before: id.optional() }),
  configure: z.strictObject({ sessionId: id, changes: z.unknown() }),
  queue: z.strictObject({ sessionId: id, input: z.string().max(4_000).optional() }),
  wait: z.strictObject({ runId: id, timeoutMs: z.int().min(0).max(600_000).optional() }),
  events: z.strictObject({
    runId: id.optional(),
    sessionId: id.optional(),
    afterSeq: z.int().min(0).optional(),
    follow: z.boolean().optional(),
  }),
}

export function agentOperations(host: AgentLoopHost, clock: Clock = systemClock): AgentOperations {
  const queueCommand = new QueueCommand(host)
  return {
    agent: mutating((payload) => host.accept(payload as never)),
    'agent.wait': reading((payload, signal) => host.wait({ ...checked('wait', payload), signal } as never)),
    'agent.read': reading(async (payload) => {
      const { runId } = checked('read', payload)
      const view = await host.read(runId)
      if (view !== undefined) return view
      throw new AgentLoopError('run-not-found', `no run ${JSON.stringify(runId)} was ever accepted`)
    }),
    'agent.abort': mutating((payload) => host.abort(payload as never)),
    lanes: reading(async () => {
      const [lanes, metrics] = [host.lanes(), host.metrics()]
      return { lanes, metrics, text: lanesText(lanes, metrics) }
    }),
    'queue.list': reading((payload) => host.queue.list(checked('session', payload).sessionId)),
    'queue.cancel': mutating((payload) => host.queue.cancel(checked('run', payload).runId)),
    'queue.clear': mutating((payload) => host.queue.clear(checked('session', payload).sessionId)),
    'queue.move': mutating((payload) => {
      const { runId, before } = checked('move', payload)
      return host.queue.move(runId, before)
    }),
    'queue.command': mutating((payload) => {
      const { sessionId, input = '' } = checked('queue', payload)
      return queueCommand.answer(sessionId, input)
    }),
    settings: reading((payload) => host.settings(checked('session', payload).sessionId)),
    configure: mutating((payload) => {
      const { sessionId, changes } = checked('configure', payload)
      return host.configure(sessionId, changes as never)
    }),
    'lanes.watch': {
      kind: 'stream',
      mutates: false,
      stream: (payload, signal) => lanesNews(host, checked('lanes', payload).sessionId, signal, clock),
    },
    events: {
      kind: 'stream',
      mutates: false,
      stream: (payload, signal) => {
        const { follow = true, ...request } = checked('events', payload)
        if (follow) return host.subscribe({ ...request, signal } as SubscribeRequest)
        const end = new AbortController()
        const both = AbortSignal.any([signal, end.signal])
        return untilQuiet(host.subscribe({ ...request, signal: both } as SubscribeRequest), end, clock)
      },
    },
  }
}

function reading(call: (payload: unknown, signal: AbortSignal) => Promise<unknown>): Operation {
  return { kind: 'call', mutates: false, call: async (payload, signal) => await call(payload, signal) }
}

function mutating(call: (payload: unknown) => Promise<unknown>): Operation {
  return { kind: 'call', mutates: true, call: async (payload) => await call(payload) }
}

/** @throws AgentLoopError `invalid`, which names every problem. */
function checked<K extends keyof typeof payloads>(kind: K, payload: unknown): z.infer<(typeof payloads)[K]> {
  const parsed = payloads[kind].safeParse(payload)
  if (parsed.success) return parsed.data as z.infer<(typeof payloads)[K]>
  const problems = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].join(': '))
  throw new AgentLoopError('invalid', `refused: ${problems.join('; ')}`)
}

/** What is there now: ends the subscription when nothing came for a moment. */
async function* untilQuiet<T>(
  events: AsyncIterable<T>,
  end: AbortController,
  clock: Clock,
): AsyncGenerator<T, void, undefined> {
  const iterator = events[Symbol.asyncIterator]()
  try {
    for (;;) {
      const quiet = Promise.withResolvers<undefined>()
      const disarm = clock.after(QUIET_MS, () => quiet.resolve(undefined))
      const next = iterator.next()
      // The one that comes too late is of no interest, however it ends.
      next.catch(() => undefined)
      const step = await Promise.race([next, quiet.promise]).finally(disarm)
      if (step === undefined || step.done === true) return
      yield step.value
    }
  } finally {
    end.abort()
    await iterator.return?.()
  }
}
