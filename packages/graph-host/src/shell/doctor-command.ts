/** `dsh-graph doctor`: the home as it lies there, and what each running host says of itself. */
import { existsSync, statSync } from 'node:fs'
import { fileText } from '../doctor/host-report.ts'
import type { DoctorReport } from '../doctor/report.ts'
import { versionProblems, versionsFound } from '../doctor/versions.ts'
import { callHost } from '../door/door-client.ts'
import { runFolder, type RunningHost } from '../door/run-file.ts'
import { isThere, nameOf, type Database } from './database.ts'
import { listAll, openGraphFile } from './graph-file.ts'
import { asShellError } from './shell-error.ts'

export interface DoctorPlaces {
  readonly graphHome: string
  readonly database: Database
  readonly hosts: readonly RunningHost[]
}

export async function shellReport(places: DoctorPlaces): Promise<DoctorReport> {
  const { database, graphHome, hosts } = places
  const versions = versionsFound()
  const problems: string[] = [...versionProblems(versions)]
  const sections: Record<string, Readonly<Record<string, string>>> = {
    versions,
    storage: {
      folder: graphHome,
      log: database.kind === 'file' ? fileText(database.path) : nameOf(database),
      'run files': runFolder(graphHome),
      ...(await graphsIn(database, problems)),
    },
  }
  if (existsSync(graphHome) && process.platform !== 'win32' && (statSync(graphHome).mode & 0o077) !== 0)
    problems.push(`others of this machine can look into ${graphHome}: chmod 700 it`)
  const lastErrors = []
  for (const host of hosts) {
    const { pid } = host.process
    try {
      const answer = await callHost(host, 'doctor', {})
      if (!answer.ok) throw new Error(answer.error.message)
      const report = answer.value as DoctorReport
      for (const [title, facts] of Object.entries(report.sections)) sections[`host ${pid}: ${title}`] = facts
      problems.push(...report.problems.map((problem) => `host ${pid}: ${problem}`))
      lastErrors.push(...report.lastErrors)
    } catch (error) {
      problems.push(`host ${pid} does not answer: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  sections['hosts'] = {
    running: hosts.length === 0 ? 'none' : hosts.map((host) => String(host.process.pid)).join(', '),
  }
  return { sections, lastErrors, problems }
}

async function graphsIn(database: Database, problems: string[]): Promise<Readonly<Record<string, string>>> {
  if (!isThere(database)) return { graphs: 'none were kept yet' }
  try {
    const file = await openGraphFile(database, true)
    try {
      const { graphs, unreadable } = await listAll(file.store)
      problems.push(...unreadable.map(({ reason }) => reason))
      const open = graphs.filter(({ phase }) => phase !== 'closed').length
      return { graphs: `${graphs.length}, ${open} open, ${unreadable.length} unreadable` }
    } finally {
      await file.close()
    }
  } catch (error) {
    problems.push(asShellError(error).message)
    return { graphs: 'unknown' }
  }
}
