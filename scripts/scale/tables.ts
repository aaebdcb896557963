/** The tables of `docs/scale.md`, the same in both languages but for the words of their heads. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Agreement, Figures, Split } from './predict.ts'

export type TableName = 'machine' | 'times' | 'measured' | 'databases'
export type Tables = Readonly<Record<TableName, string>>

export const SCALE_DOCUMENTS = ['docs/scale.md', 'docs/scale.zh-CN.md'].map((file) =>
  join(import.meta.dirname, '..', '..', file),
)

/** What a table replaces: the lines between its two comments, without the head of a table. */
function placeOf(name: string): RegExp {
  return new RegExp(`(<!-- ${name} -->\\n(?:\\|[^\\n]*\\n\\|[-|]+\\n)?)[^]*?(<!-- /${name} -->)`, 'u')
}

export function machineLine({ cores, load, machine, node }: Figures): string {
  return `${machine}, Node.js ${node}, PostgreSQL 18, load ${load} (${cores} cores)`
}

export function timesTable({ latencies, times }: Figures): string {
  const us = (ms: number) => `${(ms * 1_000).toFixed(0)} µs`
  const ms = (value: number) => `${value.toFixed(2)} ms`
  const rows = [
    ['append', us(times.dbAppend), us(times.hostAppend), ms(latencies.appendMs)],
    ['trip', us(times.dbTrip), us(times.hostTrip), ''],
    ['sync', '', '', ms(times.sync)],
    ['wire', '', '', ms(times.wire)],
    ['notify', us(times.dbNotify), '', ms(latencies.noticeMs)],
    ['poll', us(times.dbPoll), us(times.hostPoll), ''],
    ['poll row', us(times.dbPollRow), us(times.hostPollRow), ''],
    ['claim + begin', '', '', ms(latencies.claimAndBeginMs)],
    ['turn', '', '', ms(latencies.turnMs)],
  ]
  return rowsOf(rows)
}

export function measuredTable(agreements: readonly Agreement[]): string {
  return rowsOf(
    agreements.map(({ appendMs, coresOfOthers, hosts, predictedTurnsPerSecond, ratio, ...load }) => [
      String(hosts),
      String(load.sessionsPerHost),
      load.turnsPerSecond.toFixed(0),
      predictedTurnsPerSecond.toFixed(0),
      `${((ratio - 1) * 100).toFixed(0)} %`,
      `${appendMs.toFixed(1)} ms`,
      coresOfOthers.toFixed(1),
    ]),
  )
}

export function splitTable(splits: readonly Split[]): string {
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`
  return rowsOf(
    splits.map(({ appendMs, databases, turnsPerSecond, wantedTurnsPerSecond, ...used }) => [
      String(databases),
      percent(Math.min(1, turnsPerSecond / wantedTurnsPerSecond)),
      used.appendsPerSecond.toFixed(0),
      percent(used.coresUsed),
      percent(used.coresUsedByNews),
      `${appendMs.p50.toFixed(1)} ms`,
      `${appendMs.p95.toFixed(1)} ms`,
    ]),
  )
}

/** @throws Error when a document has no place for one of them. */
export function withTables(document: string, tables: Tables): string {
  return Object.entries(tables).reduce((text, [name, table]) => {
    if (!placeOf(name).test(text)) throw new Error(`there is no place for the table ${name}`)
    return text.replace(placeOf(name), (_all, head: string, tail: string) => `${head}${table}\n${tail}`)
  }, document)
}

export function writeTables(tables: Tables): void {
  for (const file of SCALE_DOCUMENTS) writeFileSync(file, withTables(readFileSync(file, 'utf8'), tables))
}

function rowsOf(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
