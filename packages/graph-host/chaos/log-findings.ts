/**
 * What the log of a supervised graph says about its works and runs. Pure readings of entries; a
 * *mark* is what had been done by the time of a kill, and must not be done again after it.
 */
import type { LogEntry } from '../../../tests/support/start-process.ts'

export interface Findings {
  /** Works that did not come to their end, and runs without one. */
  lost: number
  /** Works and runs that ended twice, or ran again although they had ended. */
  doubled: number
  readonly texts: string[]
}

interface Claim {
  readonly claimId: string
  readonly workId: string
}

/** What had been settled at a kill, with how much had been done for it. */
export interface Mark {
  readonly settled: readonly { readonly claimId: string; readonly doings: number }[]
}

function graphEntries(entries: readonly LogEntry[], type: string): readonly LogEntry[] {
  return entries.filter((entry) => entry.stream.startsWith('graph/') && entry.type === type)
}

function claimsOf(entries: readonly LogEntry[]): readonly Claim[] {
  return graphEntries(entries, 'claim').map(({ data }) => data['claim'] as Claim)
}

function settledClaims(entries: readonly LogEntry[]): readonly string[] {
  return graphEntries(entries, 'settle').map(({ data }) => String(data['claimId']))
}

/** How often something was begun for a claim: admissions, attempts, runs, and their starts. */
function doingsOf(entries: readonly LogEntry[], claimId: string): number {
  const runIds = new Set(
    entries
      .filter(({ type, data }) => type === 'run/accepted' && String(data['key']).startsWith(`${claimId}#`))
      .map(({ data }) => data['runId']),
  )
  return entries.filter(({ type, data }) => {
    if (type === 'begin' || type === 'retry') return data['claimId'] === claimId
    return (type === 'run/accepted' || type === 'run/started') && runIds.has(data['runId'])
  }).length
}

export function markOf(entries: readonly LogEntry[]): Mark {
  return {
    settled: settledClaims(entries).map((claimId) => ({ claimId, doings: doingsOf(entries, claimId) })),
  }
}

function countOf(ids: readonly unknown[], id: unknown): number {
  return ids.filter((other) => other === id).length
}

function checkWorks(entries: readonly LogEntry[], workIds: readonly string[], findings: Findings): void {
  const claims = claimsOf(entries)
  const settled = settledClaims(entries)
  for (const workId of workIds) {
    const own = claims.filter((claim) => claim.workId === workId)
    const ends = own.reduce((sum, { claimId }) => sum + countOf(settled, claimId), 0)
    if (ends === 1 && own.length === 1) continue
    if (ends === 0) findings.lost += 1
    else findings.doubled += 1
    findings.texts.push(`work ${workId} has ${own.length} claims and ${ends} ends`)
  }
}

function checkRuns(entries: readonly LogEntry[], findings: Findings): void {
  const idsOf = (type: string) =>
    entries.filter((entry) => entry.type === type).map(({ data }) => data['runId'])
  const ended = idsOf('run/settled')
  for (const runId of idsOf('run/accepted')) {
    const ends = countOf(ended, runId)
    if (ends === 1) continue
    if (ends === 0) findings.lost += 1
    else findings.doubled += 1
    findings.texts.push(`run ${String(runId)} has ${ends} ends`)
  }
}

function checkMarks(entries: readonly LogEntry[], marks: readonly Mark[], findings: Findings): void {
  for (const { claimId, doings } of marks.flatMap(({ settled }) => settled)) {
    const now = doingsOf(entries, claimId)
    if (now === doings) continue
    findings.doubled += 1
    findings.texts.push(`claim ${claimId} was settled at a kill and ran again after it`)
  }
}

/** @param workIds the works that the graph has to have. */
export function inspect(
  entries: readonly LogEntry[],
  workIds: readonly string[],
  marks: readonly Mark[],
): Findings {
  const findings: Findings = { lost: 0, doubled: 0, texts: [] }
  const epochs = entries.filter(({ type }) => type === 'epoch').length
  if (epochs !== 1) findings.texts.push(`the root opened ${epochs} graphs`)
  const closed = graphEntries(entries, 'update').some(
    ({ data }) => (data['update'] as Record<string, unknown>)['finish'] !== undefined,
  )
  if (!closed) findings.texts.push('the graph was never finished')
  checkWorks(entries, workIds, findings)
  checkRuns(entries, findings)
  checkMarks(entries, marks, findings)
  return findings
}
