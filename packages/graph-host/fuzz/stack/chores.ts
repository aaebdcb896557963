/**
 * What works are made of in a simulation: an instruction that says how its operator will do, and the
 * doing of it. The count of how often each was begun is what tells of work that ran twice.
 */
import type { GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm'
import { defineTool, type ToolDefinition } from '@deepseek-ai/dsh-tools'
import { createGraphDefinition } from 'dsh-graph-runtime'
import type { Random } from 'dsh-durable-log/testing'
import { ABORTED, errorAnswer, pause, textAnswer, toolAnswer } from './model-chunks.ts'

export type ChoreEnd = 'ok' | 'tool' | 'fail' | 'throw' | 'hang' | 'unknown-tool'

/** Written into an instruction as JSON behind {@link MARK}. */
export interface Chore {
  readonly root: string
  readonly work: string
  readonly ms: number
  readonly end: ChoreEnd
}

const MARK = 'simulate '

export function choreOf(random: Random, root: string, work: string): Chore {
  const end = random.pick<ChoreEnd>([
    ...Array.from({ length: 12 }, () => 'ok' as const),
    'tool',
    'tool',
    'fail',
    'fail',
    'throw',
    'hang',
    'unknown-tool',
  ])
  return { root, work, ms: random.pick([0, 0, 1, 40, 500, 2_000, 9_000]), end }
}

export function instructionOf(chore: Chore): string {
  return `${MARK}${JSON.stringify(chore)}`
}

/** The chore that an operator was given last, and whether this is the first request about it. */
export function choreIn({ messages }: GenerateOptions): { chore: Chore; isFirst: boolean } {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    for (const block of messages[at]?.content ?? []) {
      if (block.type !== 'text' || !block.text.startsWith(MARK)) continue
      const line = block.text.slice(MARK.length).split('\n', 1)[0] ?? ''
      const isFirst = !messages.slice(at + 1).some(({ role }) => role === 'assistant')
      return { chore: JSON.parse(line) as Chore, isFirst }
    }
  }
  throw new Error('an operator was given no chore')
}

/** How an operator answers a request about its chore. */
export async function* doChore(
  { chore, isFirst }: { chore: Chore; isFirst: boolean },
  { signal }: GenerateOptions,
): AsyncIterable<StreamChunk> {
  const isHanging = chore.end === 'hang'
  if (!(await pause(isHanging ? Infinity : chore.ms, signal))) return yield ABORTED
  if (chore.end === 'throw') throw new Error(`the connection of ${chore.work} broke`)
  if (chore.end === 'fail') return yield* errorAnswer('QUOTA', `no money left for ${chore.work}`)
  const tool = chore.end === 'tool' ? 'toil' : 'no_such_tool'
  if (isFirst && chore.end !== 'ok') return yield* toolAnswer('call_1', tool, { ms: chore.ms })
  yield* textAnswer(`${chore.work} is done`)
}

/** A tool that takes its time. */
export function toil(): ToolDefinition {
  return defineTool({
    name: 'toil',
    description: 'Toils.',
    parameters: { ms: { type: 'integer', required: true } },
    output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
    execute: async ({ ms }, { signal }) => {
      if (!(await pause(ms, signal))) throw signal.reason as Error
      return 'toiled'
    },
  })
}

/** The tool by which DSH asks a person, who takes their time. */
export function askPerson(): ToolDefinition {
  return defineTool({
    name: 'ask_user_question',
    description: 'Asks.',
    parameters: { ms: { type: 'integer', required: true } },
    output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
    execute: async ({ ms }, { signal }) => {
      if (!(await pause(ms, signal))) throw signal.reason as Error
      return 'go on'
    },
  })
}

interface ListingArgs {
  readonly items: number
  readonly ms: number
  readonly fails: boolean
}

/** A code graph that answers with a list, for works that go over one. */
export const listing = createGraphDefinition({
  name: 'listing',
  description: 'Lists things.',
  asOperator: true,
  parameters: {
    items: { type: 'integer', required: true },
    ms: { type: 'integer', required: true },
    fails: { type: 'boolean', required: true },
  },
  build: () => ({
    invoke: async (input: unknown, config?: object) => {
      const { fails, items, ms } = input as ListingArgs
      const { signal } = config as { signal: AbortSignal }
      if (!(await pause(ms, signal))) throw signal.reason as Error
      if (fails) throw new Error('nothing can be listed')
      return Array.from({ length: items }, (_, at) => `item ${at + 1}`)
    },
  }),
})
