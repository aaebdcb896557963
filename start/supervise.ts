/**
 * Drives the errand: one root session, one task, until the graph is finished and answered.
 *
 * Every message to the root is a run of the agent-loop host with a key of its own, so a start that
 * was killed and resumed sends nothing twice. Between runs the root is woken by the graph host.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { DrivingAgentGraphController } from 'dsh-tool-graph'
import type { GraphState } from 'dsh-graph-control'
import { WorkChanges, type ProgressView } from './progress.ts'
import { StartError } from './start-error.ts'
import type { Errand } from './state-dir.ts'

const SCRIPTED = { provider: 'scripted', model: 'demo' }
const DEEPSEEK = {
  provider: 'deepseek-official',
  model: process.env['DEEPSEEK_MODEL'] || 'deepseek-v4-flash',
}
/** How often a root that stopped short is asked to go on, in one start. */
const MAX_NUDGES = 2
/** Window of one wait; waiting is repeated until the turn is over. */
const WAIT_WINDOW_MS = 600_000

export interface Outcome {
  readonly graphId: string
  readonly works: readonly { readonly workId: string; readonly status: string }[]
  readonly answer: string
}

function promptOf(task: string): string {
  return [
    'Supervise an agent graph for this task and answer it.',
    `Task: ${task.replaceAll(/\s+/gu, ' ')}`,
    'Add three works in one update: "survey" (its operator calls the field_survey tool on the task and reports findings and nonce verbatim), "measure" (its operator calls the word_count tool on the text of the task), and "report", which takes both as inputs and joins them, keeping the survey nonce verbatim.',
    'Then yield. When woken and nothing is pending, read the report, finish the graph with its record id, and answer in two sentences that carry the survey nonce verbatim.',
  ].join('\n')
}

const NUDGE =
  'You were interrupted. Look at the agent graph, go on from where it stands, and answer the task once the graph is finished.'

/** How the newest turn of the root ended; `undefined` while it runs or before the first. */
function lastEnd(agent: Agent) {
  const event = agent.session.events.findLast(({ type }) => type === 'turn/start' || type === 'turn/end')
  return event?.type === 'turn/end' ? event.data.reason : undefined
}

/** Text of the root's newest turn. */
function lastAnswer(agent: Agent): string {
  const { events } = agent.session
  const from = events.findLastIndex(({ type }) => type === 'turn/start')
  const texts = events.slice(from).flatMap((event) => {
    if (event.type !== 'assistant/message') return []
    const text = event.data.message.content
      .flatMap((block) => (block.type === 'text' ? [block.text] : []))
      .join('')
    return text === '' ? [] : [text]
  })
  return texts.at(-1) ?? ''
}

function worksOf(graph: GraphState): Outcome['works'] {
  return [...graph.works.values()].map(({ workId, status }) => ({ workId, status }))
}

export class Supervision {
  private readonly ctx: Context
  private readonly errand: Errand
  private readonly view: ProgressView
  private readonly undo: (() => unknown)[] = []
  private readonly looks = new Set<() => void>()

  constructor(ctx: Context, errand: Errand, view: ProgressView) {
    this.ctx = ctx
    this.errand = errand
    this.view = view
  }

  /**
   * @param signal ends the waiting; what runs is taken up by the next start.
   * @throws StartError `run` when the graph does not get finished and answered.
   */
  async run(signal: AbortSignal): Promise<Outcome> {
    this.watch()
    const onAbort = () => this.look()
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      const agent = await this.openRoot()
      await this.say('task', promptOf(this.errand.task), signal)
      for (let nudges = 0; ; nudges++) {
        await this.whenQuiet(agent, signal)
        const end = lastEnd(agent)
        const graph = await this.graph()
        if (end?.kind === 'error')
          throw new StartError('run', `the model failed: ${end.error.code}: ${end.error.message}`)
        if (graph?.closed === true && end?.kind === 'completed' && lastAnswer(agent) !== '')
          return this.outcome(agent, graph)
        if (nudges === MAX_NUDGES)
          throw new StartError(
            'run',
            graph === undefined
              ? 'the root session answered without opening a graph'
              : `the root session stopped (${end?.kind ?? 'no turn'}) with graph ${graph.graphId} ${graph.closed ? 'finished but not answered' : 'unfinished'}`,
          )
        this.view.show({ type: 'note', text: 'the root session stopped short; asking it to go on' })
        await this.say(`nudge-${agent.session.seq}`, NUDGE, signal)
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      for (const undo of this.undo.splice(0)) undo()
    }
  }

  /** Resumes the stored root session, or makes it when a kill came before it was written. */
  private async openRoot(): Promise<Agent> {
    const sessionId = SessionId(this.errand.sessionId)
    const agentOptions = this.ctx.llm.listProviders().some(({ id }) => id === SCRIPTED.provider)
      ? SCRIPTED
      : DEEPSEEK
    const stored = await this.isStored(sessionId)
    const { agent } = stored
      ? await this.ctx.agents.resume({ resumeSessionId: sessionId, agentOptions })
      : await this.ctx.agents.create({ sessionId, meta: { cwd: process.cwd() }, agentOptions })
    return agent
  }

  /**
   * @throws StartError `state` when the session cannot be read, or is gone although it was written: a
   *   root without its memory is not resumed.
   */
  private async isStored(sessionId: SessionId): Promise<boolean> {
    try {
      await this.ctx.sessionPersistence.inspect(sessionId)
      return true
    } catch (error) {
      const { message } = error as Error
      // Sessions are written behind, so a kill may come before the first write; but a run settles only
      // after its session was written.
      const missing = message === `session "${sessionId}" not found`
      const written = (await this.ctx.agentLoopHost.read(this.runIdOf('task')))?.state === 'ok'
      if (missing && !written) return false
      throw new StartError('state', `the root session cannot be resumed: ${message}`, { cause: error })
    }
  }

  /** Resolves when the root's turn on this message is over. The same key is said once, over starts. */
  private async say(key: string, message: string, signal: AbortSignal): Promise<void> {
    const { sessionId } = this.errand
    const { runId } = await this.ctx.agentLoopHost.accept({
      sessionId,
      message,
      idempotencyKey: `${sessionId}/${key}`,
      runId: this.runIdOf(key),
      provenance: { kind: 'user' },
    })
    this.view.show({ type: 'note', text: `run ${runId} accepted` })
    for (;;) {
      const { status } = await this.ctx.agentLoopHost.wait({ runId, timeoutMs: WAIT_WINDOW_MS, signal })
      if (status !== 'timeout') return
    }
  }

  private runIdOf(key: string): string {
    return `run_${this.errand.sessionId}_${key}`
  }

  private watch(): void {
    const changes = new WorkChanges()
    const { ctx, errand, view } = this
    this.undo.push(
      ctx.graphControl.onCommitted((state) => {
        if (state.rootSessionId !== errand.sessionId) return
        for (const event of changes.next(state)) view.show(event)
        this.look()
      }),
      ctx.on('session/event', (session, event) => {
        if (session.id !== errand.sessionId) return
        if (event.type === 'turn/start' || event.type === 'turn/end') {
          const detail = event.type === 'turn/end' ? event.data.reason.kind : undefined
          const phase = event.type === 'turn/start' ? 'start' : 'end'
          view.show({ type: 'turn', sessionId: session.id, turn: event.data.turn, phase, detail })
        }
        if (event.type === 'tool/call')
          view.show({ type: 'tool', sessionId: session.id, name: event.data.name })
      }),
      ctx.on('agent/status', () => this.look()),
    )
  }

  private look(): void {
    for (const look of this.looks) look()
  }

  private controller(): DrivingAgentGraphController | undefined {
    const service = this.ctx.get('agentGraphController')
    if (service === undefined || !('forSession' in service)) return undefined
    return service.forSession(this.errand.sessionId) as DrivingAgentGraphController | undefined
  }

  /** Resolves when the root is idle and no wake is to be expected. */
  private async whenQuiet(agent: Agent, signal: AbortSignal): Promise<void> {
    const quiet = () =>
      agent.status === 'idle' && !agent.inbox.hasPending && this.controller()?.expectsWake() !== true
    for (;;) {
      signal.throwIfAborted()
      // Commits and status changes are announced before their makers return; look after them.
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (quiet()) return
      await new Promise<void>((resolve) => {
        const { looks } = this
        const unwatch = this.controller()?.watch(done)
        function done() {
          unwatch?.()
          looks.delete(done)
          resolve()
        }
        looks.add(done)
      })
    }
  }

  private async graph(): Promise<GraphState | undefined> {
    const epoch = await this.ctx.graphControl.currentEpoch(this.errand.sessionId)
    return epoch === undefined ? undefined : this.ctx.graphControl.readGraph(epoch.graphId)
  }

  /** Where the graph stands, for a result that is not complete. */
  async standing(): Promise<{ graphId: string | null; works: Outcome['works']; answer: string }> {
    const graph = await this.graph().catch(() => undefined)
    return { graphId: graph?.graphId ?? null, works: graph === undefined ? [] : worksOf(graph), answer: '' }
  }

  private outcome(agent: Agent, graph: GraphState): Outcome {
    return { graphId: graph.graphId, works: worksOf(graph), answer: lastAnswer(agent) }
  }
}
