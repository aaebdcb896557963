/**
 * The promises of the stack, held against everything that happens in a simulation: commit by commit, and
 * once more at the end against what is stored. Owns what was seen; changes nothing.
 */
import type { Claim, GraphState, Work } from 'dsh-graph-control'
import type { Chore } from './chores.ts'
import type { Home } from './home.ts'
import { toldWakes } from './told-wakes.ts'

/** An end of a work: one that is retried may end again. */
interface End {
  readonly workId: string
  readonly status: string
  readonly changeSeq: number
}

interface SeenGraph {
  latest: GraphState
  /** By change sequence. */
  readonly ends: Map<number, End>
  /** Change sequences that a delivered wake was the first to bring to the root. */
  readonly toldByWake: Set<number>
  /** Processes that ended while an attempt of a claim was live, by claim id. */
  readonly losses: Map<string, number>
  /** Claims that gave their permit away for a time; what they wait for then does not show in a state. */
  readonly held: Set<string>
}

export class Audit {
  readonly findings: string[] = []
  private readonly maxNewActivations: number
  private readonly graphs = new Map<string, SeenGraph>()
  /** How often a chore was begun, by session and work. */
  private readonly begun = new Map<string, number>()

  constructor(maxNewActivations: number) {
    this.maxNewActivations = maxNewActivations
  }

  find(text: string): void {
    this.findings.push(text)
  }

  /** A state that was told, or that a new process reads. */
  observe(state: GraphState): void {
    const { graphId } = state
    let seen = this.graphs.get(graphId)
    if (seen === undefined) {
      seen = { latest: state, ends: new Map(), toldByWake: new Set(), losses: new Map(), held: new Set() }
      this.graphs.set(graphId, seen)
      this.noteEnds(seen, state)
      return
    }
    const before = seen.latest
    if (state.seq < before.seq) this.find(`${graphId} went back from ${before.seq} to ${state.seq}`)
    this.noteEnds(seen, state)
    this.noteTold(seen, before, state)
    seen.latest = state
    for (const id of state.live.claims.keys()) if (state.claims.get(id)?.hold !== undefined) seen.held.add(id)
    const live = [...state.live.claims.keys()].filter((id) => !seen.held.has(id))
    if (live.length > this.maxNewActivations)
      this.find(`${live.length} activations live at ${state.seq}, ${this.maxNewActivations} are allowed`)
  }

  working(rootId: string, sessionIds: ReadonlySet<string>): void {
    if (sessionIds.size > this.maxNewActivations)
      this.find(`${sessionIds.size} operators of ${rootId} at work, ${this.maxNewActivations} are allowed`)
  }

  choreBegun(sessionId: string, { work }: Chore): void {
    const key = `${sessionId} ${work}`
    this.begun.set(key, (this.begun.get(key) ?? 0) + 1)
  }

  /** A process is gone: what was under way in it may be done again. */
  processEnded(): void {
    for (const { latest, losses } of this.graphs.values())
      for (const claimId of latest.live.claims.keys()) losses.set(claimId, (losses.get(claimId) ?? 0) + 1)
  }

  /** The host is gone for a moment, and with it the code graphs that ran in it. */
  hostEnded(): void {
    for (const { latest, losses } of this.graphs.values())
      for (const claimId of latest.live.claims.keys()) {
        const work = latest.works.get(latest.claims.get(claimId)?.workId ?? '')
        if (work !== undefined && isDoneHere(latest, work))
          losses.set(claimId, (losses.get(claimId) ?? 0) + 1)
      }
  }

  /** All is over: what is stored must keep every promise. */
  async close(home: Home): Promise<void> {
    for (const seen of this.graphs.values()) {
      const { latest } = seen
      const isOver = latest.closed && latest.counts.pending === 0 && latest.live.claims.size === 0
      if (!isOver) this.find(`${latest.graphId} is not over: ${JSON.stringify(latest.counts)}`)
      if (latest.live.openWakeId !== undefined) this.find(`${latest.graphId} has a wake that nobody delivers`)
      for (const wake of latest.wakes.values())
        if (wake.status === 'exhausted') this.find(`wake ${wake.wakeId} was given up`)
      this.checkEnds(seen)
      this.checkAttempts(seen)
      this.checkTold(seen, home)
    }
    await this.checkRuns(home)
  }

  private noteEnds({ ends }: SeenGraph, { works }: GraphState): void {
    for (const { endedChangeSeq, status, workId } of works.values()) {
      if (endedChangeSeq === undefined) continue
      const known = ends.get(endedChangeSeq)
      if (known === undefined) ends.set(endedChangeSeq, { workId, status, changeSeq: endedChangeSeq })
      else if (known.workId !== workId || (known.status !== status && isEnd(status)))
        this.find(`change ${endedChangeSeq} was ${known.workId} ${known.status}, is ${workId} ${status}`)
    }
  }

  private noteTold({ toldByWake }: SeenGraph, before: GraphState, state: GraphState): void {
    const isByWake = [...state.wakes.values()].some(
      ({ status, wakeId }) => status === 'delivered' && before.wakes.get(wakeId)?.status !== 'delivered',
    )
    if (!isByWake) return
    for (const { endedChangeSeq = 0 } of before.works.values())
      // What was undone before the wake came needs no telling any more.
      if (endedChangeSeq > before.seenChangeSeq && endedChangeSeq <= state.seenChangeSeq)
        toldByWake.add(endedChangeSeq)
  }

  private checkEnds({ ends, latest }: SeenGraph): void {
    // What is skipped comes back with the input for whose sake it was skipped.
    const counts = countsOf(
      [...ends.values()].filter(({ status }) => status !== 'skipped').map(({ workId }) => workId),
    )
    for (const [workId, count] of counts) {
      const work = latest.works.get(workId)
      const retries = retriesOf(latest, work)
      if (count > 1 + retries) this.find(`${workId} ended ${count} times, retried ${retries} times`)
    }
  }

  private checkAttempts({ latest, losses }: SeenGraph): void {
    const allowed = new Map<string, number>()
    for (const claim of latest.claims.values()) {
      const { attempt, claimId, targetSessionId, workId } = claim
      const lost = losses.get(claimId) ?? 0
      if (attempt > 1 + lost)
        this.find(`${workId} had ${attempt} attempts of ${claimId}, lost to ${lost} ends of processes`)
      const work = latest.works.get(workId)
      if (work === undefined || isDoneHere(latest, work)) continue
      const key = `${targetSessionId} ${work.joinedBy ?? workId}`
      allowed.set(key, (allowed.get(key) ?? 0) + beginnings(work, claim, lost))
    }
    for (const [key, count] of allowed) {
      const begun = this.begun.get(key) ?? 0
      if (begun > count) this.find(`${key} was begun ${begun} times, ${count} are allowed`)
    }
  }

  private checkTold({ ends, latest, toldByWake }: SeenGraph, home: Home): void {
    const wakes = toldWakes(home.storedEvents(latest.rootSessionId ?? '')).filter(({ isOver }) => isOver)
    const told = countsOf(wakes.flatMap(({ tells }) => tells))
    const isCut = wakes.some((wake) => wake.isCut)
    const ended = countsOf([...ends.values()].map(({ status, workId }) => `${workId} ${status}`))
    for (const [end, count] of ended) {
      const times = told.get(end) ?? 0
      if (times > count)
        this.find(`the root was told ${times} times that ${end}, which was so ${count} times`)
    }
    for (const { changeSeq, status, workId } of ends.values()) {
      // A root that finishes does not need to be told any more.
      if (changeSeq > latest.seenChangeSeq && !latest.closed)
        this.find(`nobody told the root that ${workId} ${status}`)
      if (toldByWake.has(changeSeq) && !isCut && (told.get(`${workId} ${status}`) ?? 0) === 0)
        this.find(`a wake was delivered for change ${changeSeq}, but none says that ${workId} ${status}`)
    }
  }

  private async checkRuns(home: Home): Promise<void> {
    const { streams } = await home.log.list({ prefix: 'run/', limit: 1_000 })
    for (const { stream } of streams) {
      const ends = new Map<string, number>()
      for (const { data, type } of await home.log.read(stream)) {
        const { runId } = data as { runId: string }
        if (type === 'run/accepted') ends.set(runId, 0)
        if (type === 'run/settled') ends.set(runId, (ends.get(runId) ?? 0) + 1)
      }
      for (const [runId, count] of ends)
        if (count !== 1) this.find(`run ${runId} of ${stream} has ${count} ends`)
    }
  }
}

/** How often a model may be given the work for a claim. */
function beginnings({ replay }: Work, { attempt }: Claim, lost: number): number {
  // What nobody confirmed is not begun again; what is safe may be sent once more after each crash.
  return replay === undefined || replay === 'safe' ? attempt + lost : attempt
}

/** A code graph runs in the process; a follow-up on one does, too. */
function isDoneHere({ operators, works }: GraphState, { operatorId, target }: Work): boolean {
  if (target.kind !== 'operator') return target.kind === 'graph'
  return works.get(operators.get(operatorId ?? '')?.workId ?? '')?.target.kind === 'graph'
}

/** An item is retried with the work that joins it, and that work comes back with each of its items. */
function retriesOf({ works }: GraphState, work: Work | undefined): number {
  const kin = [work?.workId, work?.joinedBy, ...(work?.itemWorkIds ?? [])]
  return kin.reduce((sum, id) => sum + (works.get(id ?? '')?.retries ?? 0), 0)
}

function isEnd(status: string): boolean {
  return status !== 'waiting' && status !== 'ready' && status !== 'claimed' && status !== 'running'
}

function countsOf(names: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
