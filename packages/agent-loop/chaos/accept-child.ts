/**
 * One life of the process under chaos: the real DSH services, JSONL sessions, the SQLite log and the
 * host, with a model that answers at once. It accepts the runs it is told to, says each ack, waits for
 * every run, and tells what stands in its sessions. It may be killed at any moment.
 *
 * `node accept-child.ts <folder> <from> <count>`; each line on stdout is one JSON value.
 */
import { join } from 'node:path'
import { Context } from '@deepseek-ai/cordis'
import AgentRegistry, { type Agent } from '@deepseek-ai/dsh-agent'
import AgentLoop from '@deepseek-ai/dsh-agent-loop'
import LlmRuntime, { LlmAdapter, type StreamChunk } from '@deepseek-ai/dsh-llm'
import SessionStore, { SessionId } from '@deepseek-ai/dsh-session'
import JsonlSessionPersistence from '@deepseek-ai/dsh-session-persistence-jsonl'
import SystemPrompt from '@deepseek-ai/dsh-system-prompt'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import * as durableLog from 'dsh-durable-log'
import * as agentLoopHost from '../src/index.ts'

export const SESSIONS = ['session-a', 'session-b', 'session-c'] as const

/** What the child tells, in this order; `sessions` comes last. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'ack'; readonly index: number; readonly sessionId: string; readonly runId: string }
  | { readonly kind: 'settled'; readonly runId: string; readonly state: string }
  | { readonly kind: 'sessions'; readonly messages: Readonly<Record<string, readonly string[]>> }

class InstantModel extends LlmAdapter {
  async *stream(): AsyncIterable<StreamChunk> {
    const text = 'done'
    yield { type: 'block-start', index: 0, blockType: 'text' }
    yield { type: 'text-delta', index: 0, text }
    yield { type: 'block-end', index: 0, block: { type: 'text', text } }
    yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }
    yield { type: 'finish', reason: { kind: 'stop' } }
  }
}

function report(line: Report): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

async function boot(folder: string): Promise<Context> {
  const ctx = new Context()
  await ctx.plugin(LlmRuntime)
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(AgentRegistry)
  await ctx.plugin(JsonlSessionPersistence, { root: join(folder, 'sessions') })
  await ctx.plugin(AgentLoop, { agents: [] })
  await ctx.plugin(durableLog, { backend: 'sqlite', path: join(folder, 'log.sqlite') })
  ctx.llm.registerAdapter(['instant'], new InstantModel())
  await ctx.plugin(agentLoopHost, {})
  return ctx
}

async function openSession(ctx: Context, name: string): Promise<Agent> {
  const sessionId = SessionId(name)
  const agentOptions = { provider: 'instant', model: 'm' }
  const persistence = ctx.get('sessionPersistence') as { list(): Promise<readonly { id: string }[]> }
  const isStored = (await persistence.list()).some((header) => header.id === name)
  const { agent } = isStored
    ? await ctx.agents.resume({ resumeSessionId: sessionId, agentOptions })
    : await ctx.agents.create({ sessionId, agentOptions })
  return agent
}

async function live(folder: string, from: number, count: number): Promise<void> {
  const ctx = await boot(folder)
  const host = ctx.get('agentLoopHost') as agentLoopHost.AgentLoopHost
  const agents = await Promise.all(SESSIONS.map((name) => openSession(ctx, name)))
  report({ kind: 'ready' })
  for (let index = from; index < count; index += 1) {
    const sessionId = SESSIONS[index % SESSIONS.length] ?? SESSIONS[0]
    const request = { sessionId, message: `number ${index}`, idempotencyKey: `key ${index}` }
    report({ kind: 'ack', index, sessionId, runId: (await host.accept(request)).runId })
  }
  await Promise.all(
    Array.from({ length: count }, async (_value, index) => {
      const sessionId = SESSIONS[index % SESSIONS.length] ?? SESSIONS[0]
      const request = { sessionId, message: `number ${index}`, idempotencyKey: `key ${index}` }
      const { runId } = await host.accept(request)
      const { state } = await host.wait({ runId, timeoutMs: 60_000 })
      report({ kind: 'settled', runId, state })
    }),
  )
  const messages = agents.map((agent) => [
    agent.id,
    agent.session.events.flatMap((event) => (event.type === 'user/message' ? [event.data.id] : [])),
  ])
  report({ kind: 'sessions', messages: Object.fromEntries(messages) as Record<string, string[]> })
  await ctx.fiber.dispose()
}

if (import.meta.main) {
  const [folder = '', from = '0', count = '0'] = process.argv.slice(2)
  await live(folder, Number(from), Number(count))
}
