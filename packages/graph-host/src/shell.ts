/**
 * The shell command `dsh-graph`: looks at the graphs of a home, straight on the database and reading
 * only, and acts on them through a host that runs there.
 */
import { lookOf, type Look, type Output } from './board/look.ts'
import { cleanLine } from './board/text-width.ts'
import { doctorLines, maskReport } from './doctor/report.ts'
import { standingThrough } from './door/standing.ts'
import { versionsFound } from './doctor/versions.ts'
import { act, ACTS } from './shell/act-commands.ts'
import { parseShellArguments, USAGE, wrongUse, type ShellRequest } from './shell/arguments.ts'
import { shellReport } from './shell/doctor-command.ts'
import { isThere } from './shell/database.ts'
import { openGraphFile } from './shell/graph-file.ts'
import { lookThroughHosts } from './shell/host-look.ts'
import { placesOf, type Places } from './shell/places.ts'
import { installPreset } from './shell/preset-install.ts'
import { READINGS, type Answer } from './shell/read-commands.ts'
import { asShellError, EXIT, ShellError, type ExitCode } from './shell/shell-error.ts'

export { EXIT, type ExitCode } from './shell/shell-error.ts'

/** A stream that a command writes to. */
export interface ShellOutput extends Output {
  write(text: string): unknown
}

export interface ShellStreams {
  readonly stdout: ShellOutput
  readonly stderr: ShellOutput
  readonly environment: Readonly<Record<string, string | undefined>>
}

/**
 * Runs one command. Never rejects.
 *
 * @param argv what follows the command's name.
 * @returns the exit code.
 */
export async function main(argv: readonly string[], streams: ShellStreams): Promise<ExitCode> {
  const { stderr, stdout } = streams
  // Known before the arguments are: a program wants its error as it wants its answer.
  const isJson = argv.includes('--json')
  try {
    const request = parseShellArguments(argv)
    const look = lookOf(stdout, streams.environment)
    const {
      document,
      exitCode = EXIT.ok,
      lines,
    } = await answer(request, placesOf(request, streams.environment), look)
    stdout.write(request.json ? `${JSON.stringify(document, null, 2)}\n` : `${lines.join('\n')}\n`)
    return exitCode
  } catch (error) {
    const { code, exitCode, message } = asShellError(error)
    if (isJson) stdout.write(`${JSON.stringify({ error: { code, message } }, null, 2)}\n`)
    stderr.write(`dsh-graph: ${cleanLine(message)}\n`)
    return exitCode
  }
}

async function answer(request: ShellRequest, places: Places, look: Look): Promise<Answer> {
  const { command, words } = request
  if (request.version) {
    const version = versionsFound()['dsh-graph-host'] ?? 'unknown'
    return { document: { version }, lines: [version] }
  }
  if (request.help || command === 'help') return { document: { usage: USAGE }, lines: [USAGE.trimEnd()] }
  if (command === '') throw wrongUse('name a command')
  if (ACTS.has(command)) return act(request, places)
  if (command === 'doctor') return doctor(places)
  if (command === 'preset') return preset(request, places)
  const reading = Object.hasOwn(READINGS, command) ? READINGS[command] : undefined
  if (reading === undefined) throw wrongUse(`there is no command "${command}"`)
  if (words.length > 1) throw wrongUse(`${command} takes one graph at most`)
  const told = await throughHosts(request, places, look)
  if (told !== undefined) return told
  const file = await openGraphFile(places.database, true)
  try {
    return await reading({ ...file, standing: () => standingThrough(places.hosts()) }, request, look)
  } finally {
    await file.close()
  }
}

/** Where a process is named, or where there is no database but somebody who may have the graphs. */
async function throughHosts(
  request: ShellRequest,
  { database, hosts }: Places,
  look: Look,
): Promise<Answer | undefined> {
  const { db, hostPid } = request
  if (hostPid === undefined) {
    return db === undefined && !isThere(database) ? lookThroughHosts(hosts(), request, look) : undefined
  }
  const meant = hosts().filter(({ process }) => process.pid === hostPid)
  const told = await lookThroughHosts(meant, request, look)
  if (told === undefined)
    throw new ShellError(EXIT.noHost, 'no-host', `no process ${hostPid} with a door runs on this home`)
  return told
}

async function doctor({ database, graphHome, hosts }: Places): Promise<Answer> {
  const report = await shellReport({ database, graphHome, hosts: hosts() })
  return {
    document: maskReport(report),
    lines: doctorLines(report),
    exitCode: report.problems.length === 0 ? EXIT.ok : EXIT.found,
  }
}

async function preset(
  { force, from, words }: ShellRequest,
  { home, hosts, searchPath }: Places,
): Promise<Answer> {
  if (words.join(' ') !== 'install') throw wrongUse('the command is: preset install')
  const folder = await installPreset({ home, searchPath, from, force, hosts: hosts() })
  return { document: { folder }, lines: [`preset "graph" is at ${folder}; new sessions can choose it`] }
}
