/**
 * The queue of a session in words, for `/queue` and for the shell: shows it and its settings, changes
 * both. What it answers is for the person; the model does not see it.
 */
import { AgentLoopError } from '../errors.ts'
import type { AgentLoopHost } from '../types.ts'
import type { QueuedItem, QueueSettings, SessionDefaults, SessionSettings } from '../queue-types.ts'
import { durationText } from '@dsh-graph/text-board'

const USAGE = [
  '/queue                                      what waits, and how messages join',
  '/queue collect|steer|followup|steer-backlog|interrupt',
  '/queue debounce:2s max-debounce:10s cap:25 drop:summarize|old|new',
  '/queue reset                                back to the configuration',
  '/queue cancel <run>, /queue clear           takes messages out',
  '/queue move <run> [<run>]                   before another one, or to the end',
].join('\n')

const MODES = new Set(['collect', 'steer', 'queue', 'followup', 'steer-backlog', 'interrupt'])
const RESET: NonNullable<SessionDefaults['queue']> = {
  mode: null,
  debounceMs: null,
  maxDebounceMs: null,
  cap: null,
  drop: null,
}

export interface CommandAnswer {
  readonly kind: 'success' | 'error'
  readonly text: string
}

type Change = { -readonly [K in keyof QueueSettings]?: QueueSettings[K] }

export class QueueCommand {
  private readonly host: AgentLoopHost

  constructor(host: AgentLoopHost) {
    this.host = host
  }

  /** Never rejects: a refusal is an answer, too. */
  async answer(sessionId: string, input: string): Promise<CommandAnswer> {
    try {
      return { kind: 'success', text: await this.perform(sessionId, input.trim().split(/\s+/u)) }
    } catch (error) {
      return { kind: 'error', text: error instanceof Error ? error.message : String(error) }
    }
  }

  private async perform(sessionId: string, words: readonly string[]): Promise<string> {
    const [verb = '', first = '', second] = words
    const { queue } = this.host
    switch (verb.toLowerCase()) {
      case '':
      case 'show':
      case 'list':
        return await this.show(sessionId)
      case 'help':
        return USAGE
      case 'reset':
      case 'default':
        return settingsText(await this.host.configure(sessionId, { queue: RESET }))
      case 'clear': {
        const taken = await queue.clear(sessionId)
        return taken.length === 0 ? 'Nothing was waiting.' : `Taken out: ${taken.join(', ')}`
      }
      case 'cancel':
        await this.assertOwn(sessionId, first)
        return (await queue.cancel(first)) ? `Taken out: ${first}` : `${first} is not waiting.`
      case 'move':
        await this.assertOwn(sessionId, first)
        return (await queue.move(first, second)) ? await this.show(sessionId) : 'They are not both waiting.'
      default:
        return settingsText(await this.host.configure(sessionId, { queue: changeOf(words) }))
    }
  }

  private async show(sessionId: string): Promise<string> {
    const [items, settings] = await Promise.all([
      this.host.queue.list(sessionId),
      this.host.settings(sessionId),
    ])
    const lines = items.map(itemText)
    return [settingsText(settings), ...(lines.length === 0 ? ['Nothing waits.'] : lines)].join('\n')
  }

  /** A person acts on the queue of the session at hand. */
  private async assertOwn(sessionId: string, runId: string): Promise<void> {
    const run = runId === '' ? undefined : await this.host.read(runId)
    if (run?.sessionId === sessionId) return
    throw new AgentLoopError('run-not-found', `no run ${JSON.stringify(runId)} in this session; /queue lists`)
  }
}

/** @throws AgentLoopError `invalid`. */
function changeOf(words: readonly string[]): Change {
  const change: Change = {}
  for (const word of words) {
    const [, name = '', value = ''] = /^([a-z-]+):(.+)$/u.exec(word.toLowerCase()) ?? []
    if (MODES.has(word.toLowerCase())) change.mode = modeOf(word.toLowerCase())
    else if (name === 'debounce') change.debounceMs = millidurationText(word, value)
    else if (name === 'max-debounce') change.maxDebounceMs = millidurationText(word, value)
    else if (name === 'cap' && /^\d{1,5}$/u.test(value)) change.cap = Number(value)
    else if (name === 'drop' && isDrop(value)) change.drop = value
    else throw new AgentLoopError('invalid', `"${word}" is not understood\n${USAGE}`)
  }
  return change
}

function modeOf(word: string): QueueSettings['mode'] {
  return word === 'queue' ? 'steer' : (word as QueueSettings['mode'])
}

function isDrop(value: string): value is QueueSettings['drop'] {
  return value === 'summarize' || value === 'old' || value === 'new'
}

function millidurationText(word: string, value: string): number {
  const [, number = '', unit = 'ms'] = /^(\d{1,7}(?:\.\d{1,3})?)(ms|s|m)?$/u.exec(value) ?? []
  if (number === '')
    throw new AgentLoopError('invalid', `"${word}" is no time; write ${word.split(':')[0]}:2s`)
  const factor = { ms: 1, s: 1_000, m: 60_000 }[unit] ?? 1
  return Math.round(Number(number) * factor)
}

function settingsText({ queue }: SessionSettings): string {
  const { cap, debounceMs, drop, maxDebounceMs, mode } = queue
  const times = `debounce ${durationText(debounceMs)}, at most ${durationText(maxDebounceMs)}`
  return `Messages join as "${mode}"; ${times}; at most ${cap} wait, then "${drop}".`
}

function itemText({ mode, preview, reason, retryAt, runId, status }: QueuedItem): string {
  const why = reason ?? (retryAt === undefined ? undefined : `again at ${new Date(retryAt).toISOString()}`)
  return `${status}${why === undefined ? '' : ` (${why})`}  ${runId}  ${mode}  ${preview}`
}
