/**
 * Plays one seed to its end: processes that come and go over one home, a person, and time that moves
 * only when nothing else can happen.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { GraphState } from 'dsh-graph-control'
import type { Roots } from '../../src/roots.ts'
import { Audit } from './audit.ts'
import { askPerson, listing, toil } from './chores.ts'
import { compose, PROVIDER, type Composition } from './composition.ts'
import { Home } from './home.ts'
import { Life } from './life.ts'
import { RootMind } from './root-mind.ts'
import { scenarioOf, type Ending, type Incident, type Scenario } from './scenario.ts'
import { SimulatedModel } from './simulated-model.ts'
import { StoredSessions } from './stored-sessions.ts'
import { VirtualTime } from './virtual-time.ts'

/** No story takes this long when nothing is stuck. */
const MAX_STORY_MS = 2 * 3_600_000
/** Boot, shutdown and what a person does. */
const MAX_WAIT_MS = 900_000
const PERSON_WAITS_MS = 5_000
/** A lease that nobody gave back is over by then. */
const MAX_UNDRIVEN_MS = 300_000
const LEASE_MS = 60_000

export interface Outcome {
  readonly seed: number
  /** Broken promises; none: all is well. */
  readonly findings: readonly string[]
  /** What happened, a line each. */
  readonly history: readonly string[]
}

export async function simulate(seed: number): Promise<Outcome> {
  const simulation = new Simulation(scenarioOf(seed))
  return simulation.play()
}

class Simulation {
  private readonly scenario: Scenario
  private readonly home = new Home()
  private readonly minds = new Map<string, RootMind>()
  private readonly audit: Audit
  private readonly history: string[] = []
  private readonly time = VirtualTime.begin()
  private readonly endings: Ending[]
  private readonly incidents: Incident[]
  private now: ProcessNow | undefined
  /** Of the process that runs, also while it boots. */
  private composition: Composition | undefined

  constructor(scenario: Scenario) {
    this.scenario = scenario
    this.audit = new Audit(scenario.maxNewActivations)
    this.endings = [...scenario.endings]
    this.incidents = [...scenario.incidents]
    for (let root = 0; root < scenario.roots; root += 1) {
      const { budget, epochs, random, rootFaults: faults } = scenario
      const rootId = `root${root}`
      this.minds.set(rootId, new RootMind({ rootId, random, budget, epochs, faults }))
    }
  }

  async play(): Promise<Outcome> {
    const { audit, history, scenario, time } = this
    const onRejection = (error: unknown) => audit.find(`a rejection nobody handles: ${textOf(error)}`)
    process.on('unhandledRejection', onRejection)
    try {
      for (let isOver = false; !isOver;) isOver = await this.playProcess()
      await audit.close(this.home)
    } catch (error) {
      audit.find(textOf(error))
    } finally {
      time.drop()
      time.end()
      process.off('unhandledRejection', onRejection)
    }
    const { random: _random, ...shown } = scenario
    return { seed: scenario.seed, findings: audit.findings, history: [JSON.stringify(shown), ...history] }
  }

  /** @returns whether the story is over. */
  private async playProcess(): Promise<boolean> {
    const ending = this.endings.shift()
    const life = new Life(ending?.kind === 'kill' ? ending.death : undefined)
    const booted = this.boot(life)
    const now = await this.unlessDead(life, booted)
    if (now === undefined) return this.bury(life, ending)
    this.now = now
    const shutdownAt = ending?.kind === 'shutdown' ? this.time.elapsedMs + ending.atMs : Infinity
    while (!(await this.isStoryOver(now))) {
      if (life.isOver) return this.bury(life, ending)
      if (this.time.elapsedMs >= shutdownAt) {
        this.tell('the process is shut down')
        return (await this.shutDown(now)) ? false : this.bury(life, ending)
      }
      await this.lookAround(now)
      await this.advance()
    }
    return (await this.shutDown(now)) ? true : this.bury(life, ending)
  }

  private async advance(): Promise<void> {
    await this.time.settle()
    if (this.now?.life.isOver === true) return
    if (this.time.elapsedMs > MAX_STORY_MS) throw new Error('the story does not end')
    this.time.next()
    await this.time.settle()
  }

  private async boot(life: Life): Promise<ProcessNow> {
    this.composition = undefined
    const { audit, home, minds, scenario } = this
    const { maxNewActivations, operatorTimeoutMs, wakeDelayMs } = scenario
    const isAlive = () => !life.isOver
    let composition: Composition | undefined
    const graphOf = async (rootId: string): Promise<GraphState | undefined> => {
      const store = composition?.ctx.graphControl
      const epoch = await store?.currentEpoch(rootId)
      return epoch === undefined ? undefined : store?.readGraph(epoch.graphId)
    }
    const graphsOf = async (rootId: string): Promise<readonly GraphState[]> => {
      const store = composition?.ctx.graphControl
      const epochs = (await store?.listEpochs(rootId)) ?? []
      const graphs = await Promise.all(epochs.map(({ graphId }) => store?.readGraph(graphId)))
      return graphs.filter((graph) => graph !== undefined)
    }
    const adapter = new SimulatedModel({
      life,
      minds,
      look: graphOf,
      onDecision: (rootId, decision, heard) => {
        if (isAlive())
          this.tell(`${rootId} hears ${JSON.stringify(heard)} and does ${JSON.stringify(decision)}`)
      },
      onChore: (sessionId, chore) => {
        if (!isAlive()) return
        audit.choreBegun(sessionId, chore)
        this.tell(`${sessionId} begins ${JSON.stringify(chore)}`)
      },
      onWorking: (rootId, sessions) => isAlive() && audit.working(rootId, sessions),
    })
    composition = await compose({
      log: home.logFor(life),
      adapter,
      tools: [toil(), askPerson()],
      config: { maxNewActivations, operatorTimeoutMs, wakeDelayMs, leaseMs: LEASE_MS },
      persistence: (ctx) => ctx.plugin(StoredSessions, { sessions: home.sessions, life }),
      withCodeGraphs: true,
      onWarning: (text) => isAlive() && this.tell(`warning: ${text}`),
    })
    this.composition = composition
    const { ctx } = composition
    ctx.graphTools.mount(listing, ctx)
    const store = ctx.graphControl
    for (const rootId of minds.keys())
      for (const { graphId } of await store.listEpochs(rootId)) {
        const state = await store.readGraph(graphId)
        if (state !== undefined && isAlive()) audit.observe(state)
      }
    store.onCommitted((state) => {
      if (!isAlive()) return
      audit.observe(state)
      this.tell(commitLine(state))
    })
    const roots = new Map<string, Agent>()
    for (const rootId of minds.keys()) roots.set(rootId, await this.openRoot(composition, rootId))
    return { life, composition, roots, graphOf, graphsOf, waitsSince: new Map() }
  }

  private async openRoot({ ctx }: Composition, rootId: string): Promise<Agent> {
    const agentOptions = { provider: PROVIDER, model: 'root' }
    const sessionId = SessionId(rootId)
    const { agent } = this.home.sessions.has(rootId)
      ? await ctx.agents.resume({ resumeSessionId: sessionId, agentOptions })
      : await ctx.agents.create({ sessionId, agentOptions })
    return agent
  }

  /** The result, or nothing when the process died before; time passes meanwhile. */
  private async unlessDead<T>(life: Life, promise: Promise<T>): Promise<T | undefined> {
    let result: { value: T } | undefined
    let failure: { error: unknown } | undefined
    const since = this.time.elapsedMs
    promise.then(
      (value) => (result = { value }),
      (error: unknown) => (failure = { error }),
    )
    for (;;) {
      await this.time.settle()
      if (result !== undefined) return result.value
      if (life.isOver) return undefined
      if (failure !== undefined) throw failure.error
      if (this.time.elapsedMs - since > MAX_WAIT_MS) throw new Error('something waits for what never comes')
      this.time.next()
    }
  }

  /** The process is gone; what it held is left as it was. */
  private async bury(life: Life, ending: Ending | undefined): Promise<boolean> {
    life.end()
    this.tell(`the process is killed, ${JSON.stringify(ending)}`)
    await this.time.settle()
    // Not a shutdown: nothing that it does reaches what outlives it. But the memory goes.
    this.composition?.dispose().catch(() => undefined)
    await this.time.settle()
    this.time.drop()
    this.endProcess()
    if (ending?.kind === 'kill' && ending.isFound) await this.home.dropLeases()
    return false
  }

  /** @returns whether it came to its end; not when the process was killed meanwhile. */
  private async shutDown({ life, composition }: ProcessNow): Promise<boolean> {
    await this.unlessDead(life, composition.dispose())
    if (life.isOver) return false
    this.endProcess()
    await this.time.settle()
    if (composition.ctx.get('agents')?.list().length) this.audit.find('agents outlive their process')
    if (this.time.timers > 0) this.audit.find(`${this.time.timers} timers outlive their process`)
    life.end()
    return true
  }

  private endProcess(): void {
    this.audit.processEnded()
    this.now = undefined
  }

  private async isStoryOver(now: ProcessNow): Promise<boolean> {
    await this.time.settle()
    if (now.life.isOver) return false
    if (this.incidents.length > 0) return false
    for (const [rootId, mind] of this.minds) {
      const root = now.roots.get(rootId)
      if (root === undefined || !isIdle(root) || !mind.isDone) return false
      const graphs = await this.unlessDead(now.life, now.graphsOf(rootId))
      if (graphs === undefined || graphs.length === 0) return false
      // Of an earlier graph, too: one that was finished while a wake of it failed settles that wake later.
      for (const { closed, live } of graphs)
        if (!closed || live.claims.size > 0 || live.openWakeId !== undefined) return false
    }
    return true
  }

  /** A person who sees to it that nothing rests that waits for a person; and what happens from outside. */
  private async lookAround(now: ProcessNow): Promise<void> {
    while ((this.incidents[0]?.atMs ?? Infinity) <= this.time.elapsedMs) {
      const incident = this.incidents.shift()
      if (incident !== undefined) await this.happen(now, incident)
      if (now.life.isOver) return
    }
    for (const rootId of this.minds.keys()) await this.attend(now, rootId)
  }

  private async happen(now: ProcessNow, { kind, root }: Incident): Promise<void> {
    this.tell(`incident: ${kind}`)
    const agent = now.roots.get(`root${root}`)
    if (agent === undefined) return
    if (kind === 'person-speaks') return say(agent, 'how is it going?')
    if (kind === 'person-cancels') {
      agent.cancel({ kind: 'user' })
      // After a person's stop nothing goes on by itself.
      const atMs = this.time.elapsedMs + PERSON_WAITS_MS
      this.incidents.unshift({ atMs, kind: 'person-speaks', root })
      this.incidents.sort((left, right) => left.atMs - right.atMs)
      return
    }
    this.audit.hostEnded()
    await this.unlessDead(now.life, now.composition.remount())
  }

  private async attend(now: ProcessNow, rootId: string): Promise<void> {
    const agent = now.roots.get(rootId)
    const mind = this.minds.get(rootId)
    const state = await this.unlessDead(now.life, now.graphOf(rootId))
    if (agent === undefined || mind === undefined) return
    await this.confirmHeld(now, state)
    const service = now.composition.ctx.get('agentGraphController') as Roots | undefined
    const isSilent = isIdle(agent) && service?.known(rootId)?.expectsWake() !== true
    const isOver = state?.closed === true && mind.isDone
    if (!isSilent || isOver) return void now.waitsSince.delete(rootId)
    const since = now.waitsSince.get(rootId) ?? this.time.elapsedMs
    now.waitsSince.set(rootId, since)
    const waitedMs = this.time.elapsedMs - since
    const isOpen = state !== undefined && !state.closed
    if (isOpen && service?.drives(rootId) !== true) {
      if (waitedMs > MAX_UNDRIVEN_MS) throw new Error(`nobody drives the graph of ${rootId}`)
      return
    }
    if (waitedMs < PERSON_WAITS_MS) return
    if (isOpen && state.phase !== 'draft' && state.counts.pending > 0)
      throw new Error(`${rootId} rests, and ${[...state.live.pending.keys()].join()} pending`)
    if (isOpen && state.phase !== 'draft' && state.changeSeq > state.seenChangeSeq)
      throw new Error(`${rootId} rests, and was not told of ${state.changeSeq - state.seenChangeSeq} changes`)
    if (state?.closed === true) mind.nextTask()
    this.tell(`the person speaks to ${rootId}`)
    now.waitsSince.delete(rootId)
    say(agent, 'go on')
  }

  private async confirmHeld({ composition, life }: ProcessNow, state: GraphState | undefined) {
    if (state === undefined) return
    for (const claimId of state.live.claims.keys()) {
      const claim = state.claims.get(claimId)
      if (claim?.hold?.kind !== 'person') continue
      if (Date.now() - claim.hold.heldAt < PERSON_WAITS_MS) continue
      this.tell(`the person confirms ${claim.workId}`)
      const store = composition.ctx.graphControl
      await this.unlessDead(
        life,
        store.retryActivation(state.graphId, claimId, claim.attempt, 'confirmed by a person'),
      )
    }
  }

  private tell(line: string): void {
    this.history.push(`${this.time.elapsedMs} ${line}`)
  }
}

interface ProcessNow {
  readonly life: Life
  readonly composition: Composition
  readonly roots: ReadonlyMap<string, Agent>
  readonly graphOf: (rootId: string) => Promise<GraphState | undefined>
  /** All that the root ever opened. */
  readonly graphsOf: (rootId: string) => Promise<readonly GraphState[]>
  /** Since when a root rests although its task is not done, by root. */
  readonly waitsSince: Map<string, number>
}

/** What a turn that failed leaves in the inbox rests there until somebody says more. */
function isIdle(agent: Agent): boolean {
  return agent.status === 'idle'
}

function say(agent: Agent, text: string): void {
  agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }))
}

function commitLine({ changeSeq, counts, live, seenChangeSeq, seq, works }: GraphState): string {
  const statuses = [...works.values()].map(({ status, workId }) => `${workId}:${status}`).join(' ')
  return `commit ${seq}: ${counts.pending} pending, ${live.claims.size} claims, seen ${seenChangeSeq}/${changeSeq}; ${statuses}`
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
