/** The commands of `dsh-agent`. Each answers with a document for programs and with lines for people. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { AcceptedRun, LaneMetrics, LaneSnapshot, RunOutcome, RunView } from 'dsh-agent-loop-host'
import { lanesLines, readStoredRun } from 'dsh-agent-loop-host'
import type { Look } from '../board/look.ts'
import { cleanLine } from '../board/text-width.ts'
import type { Places } from '../shell/places.ts'
import { ShellError } from '../shell/shell-error.ts'
import { wrongAgentUse, type AgentRequest } from './arguments.ts'
import { AGENT_EXIT, type AgentExitCode } from './exits.ts'
import type { AgentHosts } from './hosts.ts'
import { outcomeLines } from './lines.ts'
import { onStoredLog } from './stored-log.ts'

export interface AgentAnswer {
  /** For `--json`. */
  readonly document: unknown
  readonly lines: readonly string[]
  /** Default: done. */
  readonly exitCode?: AgentExitCode
}

export interface AgentShell {
  readonly request: AgentRequest
  readonly hosts: AgentHosts
  readonly places: Places
  /** What the place can show that the answer is written to. */
  readonly look: Look
}

interface LanesTold {
  readonly lanes: readonly LaneSnapshot[]
  readonly metrics: readonly LaneMetrics[]
  /** For whoever only prints. */
  readonly text: string
}

const WAIT_MS = 30_000
/** The longest that one call waits; a longer wait is several. */
const WINDOW_MS = 60_000

export const COMMANDS: Readonly<Record<string, (shell: AgentShell) => Promise<AgentAnswer>>> = {
  agent,
  wait,
  abort,
  lanes,
  queue,
}

async function agent({ hosts, request }: AgentShell): Promise<AgentAnswer> {
  const { cwd, deadlineMs, fields, id, key, lane, mode, priority, session, thinking, verbose, words } =
    request
  if (words.length > 0) throw wrongAgentUse('the message stands after -m')
  if ((session === undefined) === (key === undefined)) throw wrongAgentUse('name one of --session and --key')
  const asked = {
    ...fields,
    message: await messageOf(request),
    idempotencyKey: id ?? randomUUID(),
    ...given({
      sessionId: session,
      sessionKey: key,
      queueMode: mode,
      lane,
      priority,
      cwd,
      thinking,
      verbose,
    }),
    ...given({ timeoutMs: deadlineMs }),
  }
  const accepted = await hosts.ask<AcceptedRun>('agent', asked)
  if (request.wait !== true) return { document: accepted, lines: [accepted.runId] }
  const waited = await waitFor(accepted.runId, hosts, request.timeoutMs ?? WAIT_MS)
  return { ...waited, document: { ...accepted, outcome: waited.document } }
}

async function wait({ hosts, places, request }: AgentShell): Promise<AgentAnswer> {
  const [runId] = request.words
  if (runId === undefined || request.words.length > 1) throw wrongAgentUse('wait needs one run')
  if (hosts.areThere) return await waitFor(runId, hosts, request.timeoutMs ?? WAIT_MS)
  return await outcomeKept(runId, places)
}

async function abort({ hosts, request }: AgentShell): Promise<AgentAnswer> {
  const { cause, session, words } = request
  const [runId] = words
  if (words.length > 1 || (runId === undefined) === (session === undefined))
    throw wrongAgentUse('abort needs one run, or --session')
  const touched = await hosts.ask<{ aborted: boolean; runIds: readonly string[] }>(
    'agent.abort',
    given({ runId, sessionId: session, cause }),
  )
  const lines = touched.aborted ? touched.runIds.map((id) => `aborted ${id}`) : ['nothing was open']
  return { document: touched, lines: lines.map(cleanLine) }
}

async function lanes({ hosts, look, request }: AgentShell): Promise<AgentAnswer> {
  if (request.words.length > 0) throw wrongAgentUse('lanes takes no words')
  const { text: _text, ...document } = await hosts.ask<LanesTold>('lanes', {})
  return { document, lines: lanesLines(document.lanes, document.metrics, look) }
}

async function queue({ hosts, request }: AgentShell): Promise<AgentAnswer> {
  const [sessionId, ...words] = request.words
  if (sessionId === undefined) throw wrongAgentUse('queue needs a session')
  const told = await hosts.ask<{ kind: 'success' | 'error'; text: string }>('queue.command', {
    sessionId,
    input: words.join(' '),
  })
  if (told.kind === 'error') throw new ShellError(AGENT_EXIT.refused, 'queue-refused', told.text)
  const document = words.length === 0 ? await hosts.ask<unknown>('queue.list', { sessionId }) : told
  return { document, lines: told.text.split('\n').map(cleanLine) }
}

/** Waiting is repeated in windows, so that a host that goes away is seen. */
async function waitFor(runId: string, hosts: AgentHosts, timeoutMs: number): Promise<AgentAnswer> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const windowMs = Math.min(WINDOW_MS, Math.max(0, until - Date.now()))
    const outcome = await hosts.ask<RunOutcome>('agent.wait', { runId, timeoutMs: windowMs }, windowMs)
    if (outcome.status !== 'timeout' || Date.now() >= until) {
      return { document: outcome, lines: outcomeLines(runId, outcome), exitCode: exitOf(outcome) }
    }
  }
}

/** Where nobody runs anything, a run that is open cannot be waited for. */
async function outcomeKept(runId: string, { database }: Places): Promise<AgentAnswer> {
  const view = await onStoredLog(database, (log) => readStoredRun(log, runId))
  if (view === undefined) {
    throw new ShellError(AGENT_EXIT.missing, 'run-not-found', `no run "${runId}" was ever accepted`)
  }
  if (view.endedAt === undefined) {
    throw new ShellError(AGENT_EXIT.noHost, 'no-host', `run ${runId} is ${view.state}, and no DSH runs here`)
  }
  const outcome = outcomeOf(view)
  return { document: outcome, lines: outcomeLines(runId, outcome), exitCode: exitOf(outcome) }
}

function outcomeOf({
  runId: _run,
  sessionId: _session,
  acceptedAt: _at,
  turn: _turn,
  ...view
}: RunView): RunOutcome {
  return { status: view.state === 'ok' ? 'ok' : 'error', ...view }
}

function exitOf({ status }: RunOutcome): AgentExitCode {
  if (status === 'timeout') return AGENT_EXIT.timeout
  return status === 'ok' ? AGENT_EXIT.ok : AGENT_EXIT.runFailed
}

async function messageOf({ file, message }: AgentRequest): Promise<string> {
  if ((file === undefined) === (message === undefined)) throw wrongAgentUse('give one of -m and --file')
  if (message !== undefined) return message
  try {
    // Standard input may be a pipe or a terminal; both are read to their end.
    return file === '-' ? readFileSync(0, 'utf8') : await readFile(file ?? '', 'utf8')
  } catch (error) {
    throw wrongAgentUse(
      `the message cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

function given(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
