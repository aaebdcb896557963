/**
 * The shell command `dsh-agent`: runs agents, waits for them and follows them through a DSH that runs on
 * the home. Ends whatever happens: nothing it opens outlives the command.
 */
import { parseAgentArguments, AGENT_USAGE, wrongAgentUse } from './agent-shell/arguments.ts'
import { COMMANDS, type AgentAnswer, type AgentShell } from './agent-shell/commands.ts'
import { tellEvents } from './agent-shell/events-command.ts'
import { AGENT_EXIT, refusedBy, type AgentExitCode } from './agent-shell/exits.ts'
import { AgentHosts } from './agent-shell/hosts.ts'
import { lookOf } from './board/look.ts'
import { cleanLine } from './board/text-width.ts'
import { versionsFound } from './doctor/versions.ts'
import { placesOf } from './shell/places.ts'
import { asShellError, ShellError } from './shell/shell-error.ts'
import type { ShellStreams } from './shell.ts'

export { AGENT_EXIT, type AgentExitCode } from './agent-shell/exits.ts'

/**
 * Runs one command. Never rejects.
 *
 * @param argv what follows the command's name.
 * @param signal ends the following of events.
 * @returns the exit code.
 */
export async function main(
  argv: readonly string[],
  { environment, stderr, stdout }: ShellStreams,
  signal: AbortSignal = new AbortController().signal,
): Promise<AgentExitCode> {
  // Known before the arguments are: a program wants its error as it wants its answer.
  const isJson = argv.includes('--json')
  try {
    const request = parseAgentArguments(argv)
    const places = placesOf(request, environment)
    const hosts = new AgentHosts(places.hosts(), request.hostPid)
    const shell = { request, places, hosts, look: lookOf(stdout, environment) }
    const {
      document,
      exitCode = AGENT_EXIT.ok,
      lines,
    } = request.command === 'events' && request.help !== true
      ? await events(shell, stdout, signal)
      : await answer(shell)
    if (request.json !== true) for (const line of lines) stdout.write(`${line}\n`)
    else if (document !== undefined) stdout.write(`${JSON.stringify(document, null, 2)}\n`)
    return exitCode
  } catch (error) {
    const { code, exitCode, message } = asAgentError(error)
    if (isJson) stdout.write(`${JSON.stringify({ error: { code, message } }, null, 2)}\n`)
    stderr.write(`dsh-agent: ${cleanLine(message)}\n`)
    return exitCode as AgentExitCode
  }
}

async function answer(shell: AgentShell): Promise<AgentAnswer> {
  const { command, help, version } = shell.request
  if (version === true) {
    const found = versionsFound()['dsh-graph-host'] ?? 'unknown'
    return { document: { version: found }, lines: [found] }
  }
  if (help === true || command === 'help')
    return { document: { usage: AGENT_USAGE }, lines: [AGENT_USAGE.trimEnd()] }
  if (command === '') throw wrongAgentUse('name a command')
  const perform = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined
  if (perform === undefined) throw wrongAgentUse(`there is no command "${command}"`)
  return await perform(shell)
}

async function events(
  shell: AgentShell,
  stdout: ShellStreams['stdout'],
  signal: AbortSignal,
): Promise<AgentAnswer> {
  await tellEvents(shell, stdout, signal)
  return { document: undefined, lines: [] }
}

/** What a failure of any kind means for the shell. */
function asAgentError(error: unknown): ShellError {
  if (error instanceof ShellError) return error
  const { code, message } = asShellError(error)
  return refusedBy(code.startsWith('ERR_') ? 'internal' : code, message)
}
