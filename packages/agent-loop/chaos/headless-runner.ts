/**
 * The runner of a headless profile under chaos, in the place of DSH's own: a plugin row that accepts the
 * runs it is told to, says each ack, waits for every run, tells what stands in its sessions, and ends the
 * process. It may be killed at any moment.
 *
 * The task of the command line is `<from> <count>`; each line on stdout is one JSON value.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import z from '@deepseek-ai/schemastery'
import type { AgentLoopHost } from '../src/index.ts'

export const SESSIONS = ['session-a', 'session-b', 'session-c'] as const

/** What the process tells, in this order; `sessions` comes last. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'ack'; readonly index: number; readonly sessionId: string; readonly runId: string }
  | { readonly kind: 'settled'; readonly runId: string; readonly state: string }
  | { readonly kind: 'sessions'; readonly messages: Readonly<Record<string, readonly string[]>> }

/** Between two chunks of the model, so that a kill finds turns that are under way. */
const CHUNK_MS = 3

class PacedModel extends LlmAdapter {
  async *stream(): AsyncIterable<StreamChunk> {
    yield { type: 'block-start', index: 0, blockType: 'text' }
    for (const text of ['do', 'ne']) {
      await pause(CHUNK_MS)
      yield { type: 'text-delta', index: 0, text }
    }
    yield { type: 'block-end', index: 0, block: { type: 'text', text: 'done' } }
    yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

export const name = 'chaos-runner'
export const inject = ['agents', 'llm', 'sessions', 'headlessStartup']
export const Config: z<{ task: string }> = z.object({ task: z.string().required() })

export function apply(ctx: Context, { task }: { readonly task: string }): void {
  const [from = 0, count = 0] = task.split(' ').map(Number)
  ctx.llm.registerAdapter(['paced'], new PacedModel())
  ctx.inject(['agentLoopHost', 'sessionPersistence'], (live: Context) => {
    void play(live, from, count).then(
      () => process.kill(process.pid, 'SIGTERM'),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`, () =>
          process.exit(1),
        )
      },
    )
  })
}

async function play(ctx: Context, from: number, count: number): Promise<void> {
  const host = ctx.get('agentLoopHost') as AgentLoopHost
  const agents = await Promise.all(SESSIONS.map((sessionId) => openSession(ctx, sessionId)))
  report({ kind: 'ready' })
  for (let index = from; index < count; index += 1) {
    const { runId } = await host.accept(requestOf(index))
    report({ kind: 'ack', index, sessionId: sessionOf(index), runId })
  }
  await Promise.all(
    Array.from({ length: count }, async (_value, index) => {
      const { runId } = await host.accept(requestOf(index))
      const { state } = await host.wait({ runId, timeoutMs: 60_000 })
      report({ kind: 'settled', runId, state })
    }),
  )
  const messages = agents.map((agent) => [
    agent.id,
    agent.session.events.flatMap((event) => (event.type === 'user/message' ? [event.data.id] : [])),
  ])
  report({ kind: 'sessions', messages: Object.fromEntries(messages) as Record<string, string[]> })
}

function sessionOf(index: number): string {
  return SESSIONS[index % SESSIONS.length] ?? SESSIONS[0]
}

function requestOf(index: number) {
  return { sessionId: sessionOf(index), message: `number ${index}`, idempotencyKey: `key ${index}` }
}

async function openSession(ctx: Context, id: string): Promise<Agent> {
  const sessionId = SessionId(id)
  const agentOptions = { provider: 'paced', model: 'm' }
  const persistence = ctx.get('sessionPersistence') as { list(): Promise<readonly { id: string }[]> }
  const isStored = (await persistence.list()).some((header) => header.id === id)
  const { agent } = isStored
    ? await ctx.agents.resume({ resumeSessionId: sessionId, agentOptions })
    : await ctx.agents.create({ sessionId, agentOptions, meta: { cwd: process.cwd() } })
  return agent
}

function report(line: Report): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
