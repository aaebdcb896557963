/**
 * The `/graph` command, in profiles that have commands: a person looks at the graphs of the session at
 * hand and acts on them. What it prints is for the person only; the model does not see it.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { GraphControl, GraphState } from 'dsh-graph-control'
import { isRootAgent, supervises, switchSupervision } from 'dsh-tool-graph'
import { boardLines, countsText } from './board/board.ts'
import { timeText } from './board/durations.ts'
import { PLAIN_LOOK } from './board/look.ts'
import { cleanLine } from './board/text-width.ts'
import { timelineLines } from './board/timeline-lines.ts'
import type { DoctorReport } from './doctor/report.ts'
import { doctorLines } from './doctor/report.ts'
import { GraphHostError, textOfError } from './errors.ts'
import { EVERYTHING, PersonActs } from './person-acts.ts'
import { metricsLines, readMetrics } from './read-metrics.ts'

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
  readonly agent: Agent
  readonly rawInput: string
}

interface CommandResult {
  readonly kind: 'success' | 'error'
  readonly text: string
}

const HISTORY_EVENTS = 20
export const USAGE = [
  '/graph                       the graph of this session on one screen',
  '/graph status @<epoch>       an earlier graph of it',
  '/graph history [before <n>]  what happened, newest first, a page',
  '/graph stop <work>|all [why] stop one work, or everything',
  '/graph retry <work> [why]    do a work again that failed or was stopped',
  '/graph confirm <work> [why]  let a work go on that waits for a person',
  '/graph on, /graph off        whether this session supervises graphs',
  '/graph epochs                the graphs of this session',
  '/graph metrics               waits, run times, retries, tokens',
  '/graph doctor                what to paste into a report',
].join('\n')

export interface GraphCommandDeps {
  readonly ctx: Context
  readonly store: GraphControl
  /** Activations of one graph at once. */
  readonly slots: () => number
  /** What holds up the run of an operator's session. */
  readonly runWait: (sessionId: string) => string | undefined
  readonly doctor: () => Promise<DoctorReport>
}

/** What was typed: a verb, its words, and the epoch that `@<n>` names. */
interface Request {
  readonly verb: string
  readonly words: readonly string[]
  readonly epoch: number | undefined
}

export class GraphCommand {
  private readonly deps: GraphCommandDeps
  private readonly acts: PersonActs

  constructor(deps: GraphCommandDeps) {
    this.deps = deps
    this.acts = new PersonActs(deps.store)
  }

  /** Never rejects: a refusal is an answer, too. */
  async answer({ agent, rawInput }: Invocation): Promise<CommandResult> {
    try {
      if (!isRootAgent(agent))
        return { kind: 'error', text: 'A graph belongs to the session that began it; ask there.' }
      return { kind: 'success', text: await this.perform(agent, parse(rawInput)) }
    } catch (error) {
      return { kind: 'error', text: error instanceof Error ? cleanLine(error.message) : textOfError(error) }
    }
  }

  private async perform(agent: Agent, request: Request): Promise<string> {
    const { verb, words } = request
    const [first] = words
    const why = words.slice(1).join(' ')
    const reason = why === '' ? [] : ([why] as const)
    switch (verb) {
      case '':
      case 'status':
        return this.status(agent, request)
      case 'history':
        return this.history(agent, request)
      case 'stop':
        return this.acts.stop(
          await this.graphIdOf(agent, request),
          needed(first, `a work, or ${EVERYTHING}`),
          ...reason,
        )
      case 'retry':
        return this.acts.retry(await this.graphIdOf(agent, request), needed(first, 'a work'), ...reason)
      case 'confirm':
        return this.acts.confirm(await this.graphIdOf(agent, request), needed(first, 'a work'), ...reason)
      case 'on':
      case 'off':
        return this.supervise(agent, verb === 'on')
      case 'epochs':
        return this.epochs(agent)
      case 'metrics':
        return metricsLines(
          await readMetrics(
            this.deps.store,
            (await this.epochsOf(agent)).map(({ graphId }) => graphId),
          ),
        ).join('\n')
      case 'doctor':
        return doctorLines(await this.report(agent)).join('\n')
      default:
        return USAGE
    }
  }

  /** The host's, and how this session stands. */
  private async report(agent: Agent): Promise<DoctorReport> {
    const { sections, ...rest } = await this.deps.doctor()
    const epochs = await this.epochsOf(agent)
    const newest = epochs.at(-1)
    const state = newest === undefined ? undefined : await this.deps.store.readGraph(newest.graphId)
    const session = {
      id: agent.id,
      supervision: supervises(agent) ? 'on' : 'off',
      graphs: String(epochs.length),
      ...(state === undefined ? {} : { newest: `${state.graphId}, ${state.phase}, ${countsText(state)}` }),
    }
    return { ...rest, sections: { ...sections, session } }
  }

  private async status(agent: Agent, request: Request): Promise<string> {
    const state = await this.stateOf(agent, request)
    const supervised = supervises(agent) ? 'on' : 'off'
    if (state === undefined) return `No graph yet. Supervision is ${supervised} in this session.`
    const { runWait, slots } = this.deps
    const lines = boardLines(state, PLAIN_LOOK, { now: Date.now(), slots: slots(), runWait })
    return [...lines, ...(supervised === 'on' ? [] : ['supervision is off in this session: /graph on'])].join(
      '\n',
    )
  }

  private async history(agent: Agent, request: Request): Promise<string> {
    const state = await this.stateOf(agent, request)
    if (state === undefined) return 'No graph yet.'
    const [word, position] = request.words
    const before = word === 'before' ? Number(position) : state.seq + 1
    if (!Number.isSafeInteger(before) || before < 1)
      throw new GraphHostError(
        'unknown-work',
        `"${position ?? ''}" is no position; write: /graph history before 120`,
      )
    const page = await this.deps.store.readTimeline({
      graphId: state.graphId,
      beforeSeq: before,
      limit: HISTORY_EVENTS,
    })
    const more =
      page.omittedBefore === 0
        ? []
        : [`… ${page.omittedBefore} earlier: /graph history before ${page.events.at(-1)?.seq ?? 1}`]
    return [...timelineLines(page.events, state, PLAIN_LOOK), ...more].join('\n')
  }

  private async supervise(agent: Agent, on: boolean): Promise<string> {
    await switchSupervision(this.deps.ctx, agent.id, on)
    const pending =
      (await this.stateOf(agent, { verb: '', words: [], epoch: undefined }))?.counts.pending ?? 0
    if (on)
      return supervises(agent)
        ? 'Supervision is on in this session.'
        : 'Noted, but the tools are not there: the row dsh-tool-graph is missing or switched off.'
    return `Supervision is off in this session.${pending > 0 ? ` ${pending} works go on; /graph stop all ends them.` : ''}`
  }

  private async epochs(agent: Agent): Promise<string> {
    const lines: string[] = []
    for (const { createdAt, epoch, graphId } of await this.epochsOf(agent)) {
      const state = await this.deps.store.readGraph(graphId)
      lines.push(
        `@${epoch}  ${timeText(createdAt)}  ${state?.phase ?? 'empty'}  ${state === undefined ? 'no works' : countsText(state)}  ${graphId}`,
      )
    }
    return lines.length === 0 ? 'No graph yet.' : lines.join('\n')
  }

  private epochsOf(agent: Agent) {
    return this.deps.store.listEpochs(agent.id)
  }

  private async stateOf(agent: Agent, { epoch }: Request): Promise<GraphState | undefined> {
    const epochs = await this.epochsOf(agent)
    const meant = epoch === undefined ? epochs.at(-1) : epochs.find((known) => known.epoch === epoch)
    if (epoch !== undefined && meant === undefined)
      throw new GraphHostError(
        'unknown-graph',
        `this session has no graph @${epoch}; /graph epochs lists them`,
      )
    return meant === undefined ? undefined : this.deps.store.readGraph(meant.graphId)
  }

  private async graphIdOf(agent: Agent, request: Request): Promise<string> {
    const state = await this.stateOf(agent, request)
    if (state === undefined) throw new GraphHostError('unknown-graph', 'this session has no graph yet')
    return state.graphId
  }
}

/** Words; quotes hold one together that has spaces. */
function parse(rawInput: string): Request {
  const words = [...rawInput.matchAll(/"([^"]*)"|\S+/gu)].map(([word, quoted]) => quoted ?? word)
  const at = words.find((word) => /^@\d+$/u.test(word))
  const [verb = '', ...rest] = words.filter((word) => word !== at)
  return { verb: verb.toLowerCase(), words: rest, epoch: at === undefined ? undefined : Number(at.slice(1)) }
}

function needed(word: string | undefined, what: string): string {
  if (word === undefined) throw new GraphHostError('unknown-work', `name ${what}`)
  return word
}

/** Registers the command while `ctx.commands` is there. */
export function registerGraphCommand(deps: GraphCommandDeps): void {
  const command = new GraphCommand(deps)
  deps.ctx.inject(['commands'], (child: Context) => {
    const commands = child.get('commands') as unknown as Commands
    try {
      commands.register({
        name: 'graph',
        description: 'The agent graph of this session: look, stop, retry, confirm, on, off',
        input: { hint: '[status|history|stop|retry|confirm|on|off|epochs|metrics|doctor|help]' },
        handler: (invocation) => command.answer(invocation),
      })
    } catch (error) {
      // A name is taken by whoever came first; the graphs themselves do not need it.
      child.logger('dsh-graph-host').warn('%s', `there is no /graph command: ${textOfError(error)}`)
    }
  })
}
