/** The command line of `start`. */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { StartError } from './start-error.ts'

export interface StartOptions {
  readonly task: string | undefined
  readonly json: boolean
  readonly resume: boolean
  readonly help: boolean
  readonly config: string
  readonly stateDir: string
}

export const DEFAULT_TASK = 'Survey the reading habits of night-shift lighthouse keepers'

const MAX_TASK_CHARS = 20_000

export const HELP = `Runs one supervised agent graph in a real DSH composition.

  start [task] [options]

A root session adds three works (two in parallel, a third takes their results), yields, is woken,
reads the results, finishes the graph and answers. One operator calls the code graph field_survey of
examples/graphs-bundle, which makes a nonce; the answer carries it.

Without DEEPSEEK_API_KEY a scripted model plays the model (start/demo.script.yml). With the key, and
DEEPSEEK_BASE_URL if set, the DeepSeek route does; DEEPSEEK_MODEL names its model (deepseek-v4-flash).

Options
  --json            JSON Lines on stdout; the last line is {"type":"result","status":…}
  --resume          go on with the newest unfinished graph of the state directory; finished work is
                    not repeated
  --config FILE     the composition to boot (cordis.yml beside package.json)
  --state DIR       where sessions, runs and graphs are kept (.dsh-graph in the working directory)
  -h, --help        this text

On a terminal a live board is shown, else one line per event. Exit code 0 only when the graph was
finished and answered; 1 otherwise; 2 for a bad command line; 130 when interrupted.`

/** @throws StartError `usage` for anything that is not of the command line. */
export function parseOptions(argv: readonly string[], cwd: string, projectDir: string): StartOptions {
  let parsed
  try {
    parsed = parseArgs({
      args: argv.filter((argument, index) => !(argument === '--' && index === 0)),
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        resume: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        config: { type: 'string' },
        state: { type: 'string' },
      },
    })
  } catch (error) {
    throw new StartError('usage', error instanceof Error ? error.message : String(error))
  }
  const { positionals, values } = parsed
  if (positionals.length > 1)
    throw new StartError('usage', `one task is expected, got ${positionals.length}; quote it`)
  const task = positionals[0]
  if (task !== undefined && task.trim() === '')
    throw new StartError('usage', 'the task is empty; say what is to be done')
  if (task !== undefined && task.length > MAX_TASK_CHARS)
    throw new StartError('usage', `the task has ${task.length} characters; at most ${MAX_TASK_CHARS}`)
  for (const option of ['config', 'state'] as const)
    if (values[option]?.trim() === '') throw new StartError('usage', `--${option} is empty; give a path`)
  if (task !== undefined && values.resume)
    throw new StartError('usage', '--resume goes on with the task of the state directory; leave the task out')
  return {
    // Control characters mean nothing to a model and would reach the terminal.
    task: task?.replaceAll(/\p{Cc}+/gu, ' ').trim(),
    json: values.json,
    resume: values.resume,
    help: values.help,
    config: values.config === undefined ? resolve(projectDir, 'cordis.yml') : resolve(cwd, values.config),
    stateDir: resolve(cwd, values.state ?? '.dsh-graph'),
  }
}
