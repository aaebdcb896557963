/**
 * The `/graphs` command, in profiles that have commands: lists the graphs that an agent sees, or draws
 * one. What it prints is for the person only.
 */
import type { Context } from '@deepseek-ai/cordis'
import { PLAIN_LOOK, shownLines, type ShownLine } from '@dsh-graph/text-board'
import { messageOf } from './errors.ts'
import type { GraphPicture } from './picture-types.ts'
import { sourceOf } from './mounts.ts'
import type { GraphTools } from './registry.ts'
import { listNames, nearNames } from './routing-names.ts'
import type { CallingAgent, GraphEntry } from './types.ts'

/** DSH's `ctx.commands`, as far as it is used here. */
interface Commands {
  register(command: {
    readonly name: string
    readonly description: string
    readonly input: { readonly hint: string }
    readonly handler: (invocation: Invocation) => Promise<CommandResult>
  }): () => void
}

interface Invocation {
  readonly agent: CallingAgent
  readonly rawInput: string
}

interface CommandResult {
  readonly kind: 'success' | 'error'
  readonly text: string
}

function shown(entry: GraphEntry): ShownLine {
  const isTool = entry.definition?.asTool === true
  const roles = [...(isTool ? ['tool'] : []), ...(entry.asOperator ? ['operator'] : [])]
  return {
    mark: isTool ? '●' : '○',
    ascii: isTool ? '*' : 'o',
    name: entry.name,
    state: roles.length === 0 ? 'registry' : roles.join(', '),
    note: entry.description,
  }
}

function listed(entries: readonly GraphEntry[]): CommandResult {
  if (entries.length === 0)
    return { kind: 'success', text: 'No graphs. A module that calls defineGraph adds one.' }
  const lines = shownLines(entries.map(shown), PLAIN_LOOK)
  return { kind: 'success', text: [...lines, '', 'Draw one with /graphs <name>.'].join('\n') }
}

function drawn(picture: GraphPicture): CommandResult {
  const keys = picture.stateKeys.map(({ name, accumulated }) =>
    accumulated ? `${name} (accumulated)` : name,
  )
  const parts = [
    `${picture.name}: ${picture.description}`,
    ['```mermaid', picture.mermaid, '```'].join('\n'),
    ...(keys.length > 0 ? [`State keys: ${keys.join(', ')}.`] : []),
    ...(picture.note === undefined ? [] : [`Note: ${picture.note}.`]),
  ]
  return { kind: 'success', text: parts.join('\n\n') }
}

async function answer(graphs: GraphTools, { agent, rawInput }: Invocation): Promise<CommandResult> {
  const entries = graphs.list(agent)
  const name = rawInput.trim()
  if (name === '') return listed(entries)
  const entry = graphs.get(name, agent)
  // A factory that is async, or failed before, is given its time; what it throws is in the note.
  if (entry !== undefined) await sourceOf(entry)?.settled()
  const picture = graphs.describe(name, agent)
  if (picture !== undefined) return drawn(picture)
  const names = entries.map((known) => known.name)
  const near = nearNames(name, names)
  const hint = near.length > 0 ? `did you mean ${listNames(near)}?` : `there is: ${listNames(names)}`
  return { kind: 'error', text: `No graph "${name}"; ${hint}` }
}

/** Registers the command while `ctx.commands` is there. */
export function registerCommand(ctx: Context, graphs: GraphTools): void {
  ctx.inject(['commands'], (child: Context) => {
    const commands = child.get('commands') as unknown as Commands
    try {
      commands.register({
        name: 'graphs',
        description: 'List the graphs of this session, or draw one',
        input: { hint: '[name]' },
        handler: (invocation) => answer(graphs, invocation),
      })
    } catch (error) {
      // A name is taken by whoever came first; the graphs themselves do not need it.
      child.logger('graph-runtime').warn('%s', `there is no /graphs command: ${messageOf(error)}`)
    }
  })
}
