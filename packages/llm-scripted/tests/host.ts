/** Real hosts for the tests of this folder: `ctx.llm` alone, and the whole agent loop in one process. */
import { Context } from '@deepseek-ai/cordis'
import { AgentRegistry } from '@deepseek-ai/dsh-agent'
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop'
import {
  LlmRuntime,
  BlockAssembler,
  createAssistantMessage,
  createToolResultMessage,
  createUserMessage,
  CallId,
  type GenerateOptions,
  type Message,
  type StreamChunk,
} from '@deepseek-ai/dsh-llm'
import { SessionStore } from '@deepseek-ai/dsh-session'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime } from '@deepseek-ai/dsh-tools'
import { onTestFinished } from 'vitest'
import { ScriptedLlm, type ScriptedLlmOptions, type ScriptSource } from '../src/index.ts'

export interface LogLine {
  readonly type: string
  readonly text: string
}

/** A root context that is taken down when the test ends, and what it logs. */
export function openRoot(): { ctx: Context; log: LogLine[] } {
  const ctx = new Context()
  const log: LogLine[] = []
  ctx.logger.exporter({
    export: ({ type, args }) => log.push({ type, text: args.map((arg: unknown) => String(arg)).join(' ') }),
  })
  onTestFinished(() => ctx.fiber.dispose())
  return { ctx, log }
}

export async function openLlm(): Promise<{ ctx: Context; log: LogLine[] }> {
  const root = openRoot()
  await root.ctx.plugin(LlmRuntime)
  return root
}

/** A script on the route `scripted` of a real `ctx.llm`. */
export async function play(source: string | ScriptSource, options: ScriptedLlmOptions = {}) {
  const { ctx } = await openLlm()
  const llm = new ScriptedLlm(source, options)
  const registered = ctx.inject(['llm'], (inner) => void inner.llm.registerAdapter(['scripted'], llm))
  await registered
  return { ctx, llm, ask: (request: Ask) => ask(ctx, request) }
}

export async function openHost(): Promise<{ ctx: Context; log: LogLine[] }> {
  const root = await openLlm()
  const { ctx } = root
  await ctx.plugin(SessionStore)
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(AgentRegistry)
  await ctx.plugin(AgentLoop, { agents: [] })
  return root
}

export type Ask = Partial<Omit<GenerateOptions, 'sessionId' | 'tools'>> & {
  sessionId?: string
  tools?: readonly string[]
}

export function requestOf({ sessionId, tools, ...rest }: Ask): GenerateOptions {
  return {
    provider: 'scripted',
    model: 'any',
    messages: [user('hello')],
    ...rest,
    ...(sessionId === undefined ? {} : { sessionId: sessionId as NonNullable<GenerateOptions['sessionId']> }),
    ...(tools === undefined
      ? {}
      : { tools: tools.map((name) => ({ name, description: name, parameters: { type: 'object' } })) }),
  }
}

/** Sends one request through `ctx.llm.stream` and folds the answer. */
export async function ask(ctx: Context, request: Ask) {
  const assembler = new BlockAssembler()
  const chunks: StreamChunk[] = []
  for await (const chunk of ctx.get('llm')?.stream(requestOf(request)) ?? []) {
    chunks.push(chunk)
    assembler.push(chunk)
  }
  const { finish } = assembler
  return {
    chunks,
    finish,
    usage: assembler.usage,
    blocks: assembler.blocks(),
    text: assembler
      .blocks()
      .flatMap((block) => (block.type === 'text' ? block.text : []))
      .join(''),
    calls: assembler.blocks().flatMap((block) => (block.type === 'tool-call' ? block : [])),
    failure: 'failure' in finish ? finish.failure : undefined,
  }
}

export function user(text: string): Message {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } })
}

export function assistant(
  text: string,
  calls: readonly (readonly [id: string, name: string, args: string])[] = [],
) {
  return createAssistantMessage({
    content: [
      { type: 'text', text },
      ...calls.map(
        ([id, name, args]) => ({ type: 'tool-call', id: CallId(id), name, arguments: args }) as const,
      ),
    ],
    source: { provider: 'scripted', model: 'any' },
  })
}

export function result(callId: string, text: string): Message {
  return createToolResultMessage({
    callId: CallId(callId),
    content: [{ type: 'text', text }],
    isError: false,
  })
}
