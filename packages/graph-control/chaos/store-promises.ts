/**
 * What a writer's notes promise about the graphs of a file, and whether the file keeps it.
 *
 * Notes of all rounds over one file add up. Owns the reading of notes, of graphs and of their streams
 * afterwards.
 */
import { type DurableLog, sqliteLog } from 'dsh-durable-log'
import { GraphControlStore, type GraphState } from '../src/index.ts'
import { nameOf, ROOTS, textOf } from './transitions.ts'

export interface Findings {
  /** Acknowledged transitions that are gone. */
  lost: number
  /** Transitions that are there more than once. */
  doubled: number
  readonly texts: string[]
}

const PAGE_CHARS = 1_000_000

export class StorePromises {
  /** Acknowledged transitions by graph. */
  private readonly acks = new Map<string, Set<string>>()
  /** Graph ids by root, in order of the epochs. */
  private readonly epochs = new Map<string, string[]>()

  /** Adds the notes of a round. A line that the kill cut off promises nothing. */
  note(text: string): void {
    for (const line of text.split('\n').slice(0, -1)) {
      const [kind, first = '', second = '', third = ''] = line.split(' ')
      if (kind === 'ack') this.acksOf(first).add(second)
      else if (kind === 'epoch') this.epochsOf(first)[Number(second) - 1] = third
    }
  }

  async inspect(path: string): Promise<Findings> {
    const findings: Findings = { lost: 0, doubled: 0, texts: [] }
    const log = sqliteLog({ path })
    const contained: unknown[] = []
    const store = await GraphControlStore.open(log, { report: (error) => contained.push(error) })
    try {
      for (const root of ROOTS) await this.inspectRoot(store, root, findings)
      const { graphs, unreadable } = await allGraphs(store)
      findings.texts.push(...unreadable.map(({ reason }) => reason))
      for (const graphId of new Set([...graphs, ...this.acks.keys()])) {
        await this.inspectGraph({ store, log }, graphId, findings)
      }
      findings.texts.push(...contained.map((error) => `something had to be contained: ${String(error)}`))
    } catch (error) {
      findings.texts.push(`the store cannot be read: ${String(error)}`)
    } finally {
      await store.close()
      await log.close()
    }
    return findings
  }

  private acksOf(graphId: string): Set<string> {
    const acks = this.acks.get(graphId) ?? new Set()
    this.acks.set(graphId, acks)
    return acks
  }

  private epochsOf(root: string): string[] {
    const epochs = this.epochs.get(root) ?? []
    this.epochs.set(root, epochs)
    return epochs
  }

  private async inspectRoot(store: GraphControlStore, root: string, findings: Findings): Promise<void> {
    const epochs = (await store.listEpochs(root)).map((epoch) => epoch.graphId)
    for (const [index, graphId] of this.epochsOf(root).entries()) {
      if (graphId === undefined || epochs[index] === graphId) continue
      findings.lost += 1
      findings.texts.push(`epoch ${index + 1} of ${root} is ${epochs[index]}, acknowledged as ${graphId}`)
    }
  }

  private async inspectGraph(
    { store, log }: { readonly store: GraphControlStore; readonly log: DurableLog },
    graphId: string,
    findings: Findings,
  ): Promise<void> {
    const found = new Map<string, number>()
    for (const entry of await log.read(`graph/${graphId}`)) {
      const name = nameOf(entry)
      found.set(name, (found.get(name) ?? 0) + 1)
    }
    for (const [name, count] of found) {
      if (count === 1) continue
      findings.doubled += 1
      findings.texts.push(`graph ${graphId} holds ${name} ${count} times`)
    }
    for (const name of this.acksOf(graphId)) {
      if (found.has(name)) continue
      findings.lost += 1
      findings.texts.push(`graph ${graphId} lost ${name}`)
    }
    const state = await store.readGraph(graphId)
    if (state !== undefined) findings.texts.push(...halves(state), ...(await tornTexts(store, state)))
  }
}

async function allGraphs(store: GraphControlStore) {
  const graphs: string[] = []
  const unreadable: { graphId: string; reason: string }[] = []
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await store.listGraphs({ limit: 200, ...(cursor === undefined ? {} : { cursor }) })
    graphs.push(...page.graphs.map((graph) => graph.graphId))
    unreadable.push(...page.unreadable)
    cursor = page.cursor
  }
  return { graphs, unreadable }
}

/** Complaints about parts of one transition that are there without the others. */
function halves(state: GraphState): string[] {
  const texts: string[] = []
  for (const { claimId, admissionStatus, recordId, workId } of state.claims.values()) {
    if (admissionStatus !== 'settled') continue
    const isOver = state.works.get(workId)?.endedAt !== undefined
    const left = state.works.get(workId)?.recordIds ?? []
    if (!isOver) texts.push(`claim ${claimId} is settled and its work ${workId} is not over`)
    if (recordId === undefined || left.length !== 3)
      texts.push(`claim ${claimId} left ${left.length} records`)
  }
  return texts
}

async function tornTexts(
  store: GraphControlStore,
  { graphId, records, claims }: GraphState,
): Promise<string[]> {
  const texts: string[] = []
  const claimOf = new Map([...claims.values()].map((claim) => [claim.workId, claim.claimId]))
  for (const { recordId, workId } of records.values()) {
    const { text } = await store.readResult(graphId, recordId, { limit: PAGE_CHARS })
    if (text !== textOf(claimOf.get(workId) ?? '')) texts.push(`record ${recordId} has another text`)
  }
  return texts
}
