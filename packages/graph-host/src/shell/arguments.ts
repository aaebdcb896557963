/** What was typed after `dsh-graph`. */
import { parseArgs } from 'node:util'
import { EXIT, ShellError } from './shell-error.ts'

export const USAGE = `dsh-graph: look at agent graphs and act on them

  dsh-graph list [--open] [--root <session>]         every graph
  dsh-graph show <graph> [--all]                     one graph: its works and what each waits for
  dsh-graph timeline <graph> [--before n] [--limit n]  what happened, newest first
  dsh-graph export <graph> --format json|mermaid|dot
  dsh-graph metrics [<graph>]                        waits, run times, retries, tokens
  dsh-graph stop <graph> <work>|all [--reason text]
  dsh-graph retry <graph> <work> [--reason text]
  dsh-graph confirm <graph> <work> [--reason text]   let a work go on that waits for a person
  dsh-graph on <session>, dsh-graph off <session>    whether a session supervises graphs
  dsh-graph replay-check [<graph>]                   fold every graph anew, compare with the snapshots
  dsh-graph doctor                                   what to paste into a report
  dsh-graph preset install [--from <preset>] [--force]  a preset "graph" in your own preset folder

<graph> is a graph's id, the beginning of one, or a session's id: its current graph.

  --json       for programs: one JSON document on stdout, also for errors
  --home <dir> the DSH home; default $DSH_HOME, or ~/.dsh
  --db <file>  the database; default $DSH_GRAPH_DB, or graph/log.sqlite in the home. A PostgreSQL is
               named by the variable that holds its connection string: --db env:DATABASE_URL
  --schema <name>  of a PostgreSQL; default durable_log
  --host <pid> look through one of the processes that run on the home, and not at the database.
               Without it that is done where there is no database
  --write      where no host runs: write to the database. Without it stop, retry, confirm, on and
               off go through a running host, and the database is only read
  -h, --help   -V, --version

exit: 0 done, 1 a check found something, 2 called wrongly, 3 not there, 4 refused,
      5 no running host, 6 the database cannot be read, 70 a defect
`

export interface ShellRequest {
  readonly command: string
  readonly words: readonly string[]
  readonly json: boolean
  readonly write: boolean
  readonly force: boolean
  readonly all: boolean
  readonly open: boolean
  readonly help: boolean
  readonly version: boolean
  readonly home: string | undefined
  readonly db: string | undefined
  readonly schema: string | undefined
  readonly hostPid: number | undefined
  readonly root: string | undefined
  readonly reason: string | undefined
  readonly format: string | undefined
  readonly from: string | undefined
  readonly before: number | undefined
  readonly limit: number | undefined
}

const OPTIONS = {
  json: { type: 'boolean' },
  write: { type: 'boolean' },
  force: { type: 'boolean' },
  all: { type: 'boolean' },
  open: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
  home: { type: 'string' },
  db: { type: 'string' },
  schema: { type: 'string' },
  host: { type: 'string' },
  root: { type: 'string' },
  reason: { type: 'string' },
  format: { type: 'string' },
  from: { type: 'string' },
  before: { type: 'string' },
  limit: { type: 'string' },
} as const

/** What a command takes beside what all take. */
const TAKES: Readonly<Record<string, readonly (keyof typeof OPTIONS)[]>> = {
  list: ['open', 'root'],
  show: ['all'],
  timeline: ['before', 'limit'],
  export: ['format'],
  metrics: [],
  stop: ['reason', 'write'],
  retry: ['reason', 'write'],
  confirm: ['reason', 'write'],
  on: ['write'],
  off: ['write'],
  'replay-check': [],
  doctor: [],
  preset: ['from', 'force'],
}
const ALL_TAKE: readonly string[] = ['json', 'help', 'version', 'home', 'db', 'schema', 'host']
const WITHOUT_WORDS: ReadonlySet<string> = new Set(['list', 'doctor'])

/** @throws ShellError `usage`. */
export function parseShellArguments(argv: readonly string[]): ShellRequest {
  const { positionals, values } = parsed(argv)
  const [command = '', ...words] = positionals
  if (values.help !== true && values.version !== true) assertTaken(command, words, Object.keys(values))
  return {
    command,
    words,
    json: values.json === true,
    write: values.write === true,
    force: values.force === true,
    all: values.all === true,
    open: values.open === true,
    help: values.help === true,
    version: values.version === true,
    home: values.home,
    db: values.db,
    schema: values.schema,
    hostPid: numberOf('host', values.host),
    root: values.root,
    reason: values.reason,
    format: values.format,
    from: values.from,
    before: numberOf('before', values.before),
    limit: numberOf('limit', values.limit),
  }
}

/** What would be passed over in silence is refused: it was meant to do something. */
function assertTaken(command: string, words: readonly string[], given: readonly string[]): void {
  const takes = Object.hasOwn(TAKES, command) ? TAKES[command] : undefined
  if (takes === undefined) return
  const idle = given.find((name) => !ALL_TAKE.includes(name) && !(takes as readonly string[]).includes(name))
  if (idle !== undefined) throw wrongUse(`${command} takes no --${idle}`)
  if (WITHOUT_WORDS.has(command) && words.length > 0) throw wrongUse(`${command} takes no words`)
}

export function wrongUse(message: string): ShellError {
  return new ShellError(EXIT.usage, 'usage', `${message}; dsh-graph --help tells how`)
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw wrongUse(error instanceof Error ? error.message.replace(/\.$/u, '') : String(error))
  }
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/u.test(text)) return Number(text)
  throw wrongUse(`--${name} must be a whole number from 1`)
}
