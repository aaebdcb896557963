/**
 * Looking at graphs through the process that has them: what a shell command would read from a file,
 * read where the log is. For logs that no file holds, and for those who ask for one process.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { DurableLog } from 'dsh-durable-log'
import type { GraphControl } from 'dsh-graph-control'
import type { Look } from '../board/look.ts'
import type { Standing } from './standing.ts'
import { GraphHostError } from '../errors.ts'
import type { ShellRequest } from '../shell/arguments.ts'

type Arguments = Readonly<Record<string, unknown>>

const WORD_CHARACTERS = 4_000
const FEWEST_COLUMNS = 20
const MOST_COLUMNS = 1_000

export interface LookDeps {
  readonly ctx: Context
  readonly store: GraphControl
  readonly standing: () => Standing
}

/** What it answers with is a shell's `Answer`. */
export function lookOperation({ ctx, standing, store }: LookDeps): (args: Arguments) => Promise<unknown> {
  return async (args) => {
    // Loaded when somebody asks: a host that nobody looks at does not pay for it.
    const { READINGS } = await import('../shell/read-commands.ts')
    const command = args['command']
    const reading =
      typeof command === 'string' && Object.hasOwn(READINGS, command) ? READINGS[command] : undefined
    if (reading === undefined) throw refused('command must be one that looks at graphs')
    const log = ctx.get('durableLog') as DurableLog | undefined
    if (log === undefined) throw refused('this process has no durable log')
    const { runWaits, slots } = standing()
    const runWait = (sessionId: string) =>
      Object.hasOwn(runWaits, sessionId) ? runWaits[sessionId] : undefined
    const file = { log, store, standing: async () => ({ slots, runWait }), close: async () => undefined }
    return await reading(file, requestOf(args, String(command)), lookOf(args['look']))
  }
}

function requestOf(args: Arguments, command: string): ShellRequest {
  const { words } = args
  if (!Array.isArray(words) || words.length > 1 || !words.every(isWord))
    throw refused('words must be one text of at most 4,000 characters, or none')
  return {
    command,
    words,
    json: false,
    write: false,
    force: false,
    help: false,
    version: false,
    all: args['all'] === true,
    open: args['open'] === true,
    home: undefined,
    db: undefined,
    schema: undefined,
    hostPid: undefined,
    reason: undefined,
    from: undefined,
    root: optional('root', args['root'], isWord),
    format: optional('format', args['format'], isWord),
    before: optional('before', args['before'], isCount),
    limit: optional('limit', args['limit'], isCount),
  }
}

function optional<T>(name: string, value: unknown, is: (value: unknown) => value is T): T | undefined {
  // Nothing in JSON is null or left out.
  if (value === undefined || value === null) return undefined
  if (is(value)) return value
  throw refused(`${name} cannot be that`)
}

function lookOf(value: unknown): Look {
  const { columns, hasColours, hasMarks, rows } = (value ?? {}) as Partial<Record<keyof Look, unknown>>
  if (!isCount(columns) || columns < FEWEST_COLUMNS || columns > MOST_COLUMNS || !isCount(rows))
    throw refused('look must say how many columns and rows there are')
  return { columns, rows, hasColours: hasColours === true, hasMarks: hasMarks === true }
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= WORD_CHARACTERS
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

function refused(message: string): GraphHostError {
  return new GraphHostError('invalid-request', message)
}
