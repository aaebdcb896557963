/** What was typed after `dsh-agent`. */
import { parseArgs } from 'node:util'
import { AGENT_EXIT } from './exits.ts'
import { ShellError } from '../shell/shell-error.ts'

export const AGENT_USAGE = `dsh-agent: run agents through a DSH that runs on this home

  dsh-agent agent --session <id> | --key <name>  -m <text> | --file <path, or ->
                                    accepts a run and tells its id; --wait waits for its end
  dsh-agent wait <run> [--timeout <seconds>]
  dsh-agent abort <run> | --session <id>  [--cause <text>]
  dsh-agent lanes                   what runs and waits, and what each lane has seen
  dsh-agent queue <session> [words] as after /queue in the session
  dsh-agent events <run> | --session <id>  [--after <seq>] [--follow]

agent also takes
  --id <key>         idempotency key: the same key with the same request is the same run; default a new one
  --mode <mode>      followup, collect, steer, steer-backlog, interrupt
  --lane <name>      --priority foreground|default|background   --cwd <dir>
  --deadline <seconds>              of the run; its lane has one else
  --thinking <level> --verbose on|off|full
  --option <name>=<json>            any other field of a request; may be repeated

  --timeout <seconds>  how long to wait; default 30. Waiting never ends a run
  --host <pid>         one of several processes that run on the home; default the newest that answers
  --json               for programs: one JSON document, also for errors; a line for each event
  --home <dir>         the DSH home; default $DSH_HOME, or ~/.dsh
  --db <file>          as of dsh-graph, also --schema: where wait and events read without a DSH
  -h, --help   -V, --version

Where no DSH runs, wait and events read what is kept of a run.

exit: 0 done, and the run ended well; 1 the run ended badly; 124 the time to wait is over
      2 called wrongly, 3 not there, 4 refused, 5 no running host, 6 the database cannot be read, 70 a defect
`

const OPTIONS = {
  session: { type: 'string' },
  key: { type: 'string' },
  message: { type: 'string', short: 'm' },
  file: { type: 'string' },
  id: { type: 'string' },
  mode: { type: 'string' },
  lane: { type: 'string' },
  priority: { type: 'string' },
  cwd: { type: 'string' },
  deadline: { type: 'string' },
  thinking: { type: 'string' },
  verbose: { type: 'string' },
  option: { type: 'string', multiple: true },
  wait: { type: 'boolean' },
  timeout: { type: 'string' },
  cause: { type: 'string' },
  after: { type: 'string' },
  follow: { type: 'boolean' },
  host: { type: 'string' },
  home: { type: 'string' },
  db: { type: 'string' },
  schema: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
} as const

type Values = ReturnType<typeof parsed>['values']

export interface AgentRequest extends Omit<Values, 'timeout' | 'deadline' | 'after' | 'host' | 'option'> {
  readonly command: string
  readonly words: readonly string[]
  readonly timeoutMs: number | undefined
  readonly deadlineMs: number | undefined
  readonly afterSeq: number | undefined
  readonly hostPid: number | undefined
  /** Further fields of a request. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** What a command takes beside what all take. */
const TAKES: Readonly<Record<string, readonly (keyof typeof OPTIONS)[]>> = {
  agent: [
    'session',
    'key',
    'message',
    'file',
    'id',
    'mode',
    'lane',
    'priority',
    'cwd',
    'deadline',
    'thinking',
    'verbose',
    'option',
    'wait',
    'timeout',
  ],
  wait: ['timeout'],
  abort: ['session', 'cause'],
  lanes: [],
  queue: [],
  events: ['session', 'after', 'follow'],
}
const ALL_TAKE: readonly string[] = ['json', 'help', 'version', 'home', 'db', 'schema', 'host']

/** @throws ShellError `usage`. */
export function parseAgentArguments(argv: readonly string[]): AgentRequest {
  const { positionals, values } = parsed(argv)
  const [command = '', ...words] = positionals
  if (values.help !== true && values.version !== true) assertTaken(command, Object.keys(values))
  const { after, deadline, host, option = [], timeout, ...others } = values
  return {
    ...others,
    command,
    words,
    timeoutMs: millisecondsOf('timeout', timeout),
    deadlineMs: millisecondsOf('deadline', deadline),
    afterSeq: numberOf('after', after),
    hostPid: numberOf('host', host),
    fields: Object.fromEntries(option.map(fieldOf)),
  }
}

/** What would be passed over in silence is refused: it was meant to do something. */
function assertTaken(command: string, given: readonly string[]): void {
  const takes = Object.hasOwn(TAKES, command) ? TAKES[command] : undefined
  if (takes === undefined) return
  const idle = given.find((name) => !ALL_TAKE.includes(name) && !(takes as readonly string[]).includes(name))
  if (idle !== undefined) throw wrongAgentUse(`${command} takes no --${idle}`)
}

export function wrongAgentUse(message: string): ShellError {
  return new ShellError(AGENT_EXIT.usage, 'usage', `${message}; dsh-agent --help tells how`)
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw wrongAgentUse(error instanceof Error ? error.message.replace(/\.$/u, '') : String(error))
  }
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/u.test(text)) return Number(text)
  throw wrongAgentUse(`--${name} must be a whole number`)
}

function millisecondsOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,7}(?:\.\d{1,3})?$/u.test(text)) return Math.round(Number(text) * 1_000)
  throw wrongAgentUse(`--${name} must be a number of seconds`)
}

function fieldOf(text: string): readonly [string, unknown] {
  const [, name = '', json = ''] = /^([A-Za-z]+)=(.+)$/su.exec(text) ?? []
  try {
    if (name !== '') return [name, JSON.parse(json) as unknown]
  } catch {
    // Said below.
  }
  throw wrongAgentUse('--option must be <name>=<json>')
}
