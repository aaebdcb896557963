/** `pnpm start`: boots cordis.yml and runs one supervised graph. See `HELP`. */
import { join, resolve } from 'node:path'
import { canRedraw } from 'dsh-graph-host/board'
import { createBoardView } from './board-view.ts'
import { createJsonView, createLineView } from './line-view.ts'
import { DEFAULT_TASK, HELP, parseOptions, type StartOptions } from './options.ts'
import type { ProgressView } from './progress.ts'
import { StartError } from './start-error.ts'
import { newErrand, noteAnswer, prepareStateDir, readErrand, type TakenErrand } from './state-dir.ts'

const PROJECT = resolve(import.meta.dirname, '..')

function viewOf(options: StartOptions, startedAt: number): ProgressView {
  const write = (text: string) => void process.stdout.write(text)
  if (options.json) return createJsonView(write, startedAt)
  return canRedraw(process.stdout, process.env)
    ? createBoardView(process.stdout, startedAt)
    : createLineView(write, startedAt)
}

function printResult(result: object): void {
  console.log(JSON.stringify({ type: 'result', ...result }))
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/gu, ' ')
}

/** A failure whose result line is printed already. */
class Reported extends Error {
  constructor(cause: unknown) {
    super(messageOf(cause), { cause })
  }
}

/** A directory in which there is nothing to resume is left as it is. */
function takeErrand({ resume, stateDir, task }: StartOptions): TakenErrand {
  if (!resume) prepareStateDir(stateDir)
  const taken = resume ? readErrand(stateDir) : newErrand(stateDir, task ?? DEFAULT_TASK)
  if (resume) prepareStateDir(stateDir)
  return taken
}

function leftText(unanswered: number): string {
  const graphs = unanswered === 1 ? 'an unfinished graph' : `${unanswered} unfinished graphs`
  return `${graphs} of earlier starts in this state directory; go on with --resume`
}

async function run(options: StartOptions, abort: AbortController): Promise<void> {
  const launchedAt = Date.now()
  const { errand, unanswered } = takeErrand(options)
  process.env['DSH_HOME'] = join(options.stateDir, 'home')
  process.env['DSH_TELEMETRY_DISABLED'] = '1'
  process.env['DSH_GRAPH_SCRIPT'] ??= join(import.meta.dirname, 'demo.script.yml')

  // The composition is imported only now: its modules read DSH_HOME.
  const { bootComposition } = await import('./boot-composition.ts')
  const { Supervision } = await import('./supervise.ts')
  const ctx = await bootComposition(options.config)
  const startedAt = Date.now()
  const bootMs = startedAt - launchedAt
  const view = viewOf(options, startedAt)
  const supervision = new Supervision(ctx, errand, view)
  try {
    view.show({
      type: 'note',
      text: `state in ${options.stateDir}; task: ${errand.task}; booted in ${bootMs} ms`,
    })
    if (unanswered > 0) view.show({ type: 'note', text: leftText(unanswered) })
    const outcome = await supervision.run(abort.signal)
    view.close()
    const left = noteAnswer(options.stateDir, errand)
    const runMs = Date.now() - startedAt
    if (options.json)
      printResult({ status: 'completed', ...outcome, stateDir: options.stateDir, bootMs, runMs })
    else
      console.log(
        `\n${outcome.answer}\n\ngraph ${outcome.graphId} finished in ${runMs} ms (boot ${bootMs} ms); state: ${options.stateDir}`,
      )
    if (left > 0 && !options.json) console.log(leftText(left))
  } catch (error) {
    view.close()
    if (options.json)
      printResult({ status: 'failed', ...(await supervision.standing()), error: messageOf(error) })
    throw new Reported(error)
  } finally {
    await ctx.root.fiber.dispose()
  }
}

const abort = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () =>
    abort.abort(new StartError('run', `interrupted by ${signal}; go on with --resume`)),
  )

// The reader of the lines has gone, or its disk is full: there is nobody left to tell.
process.stdout.on('error', () => process.exit(1))

let json = false
try {
  const options = parseOptions(process.argv.slice(2), process.cwd(), PROJECT)
  json = options.json
  if (options.help) console.log(HELP)
  else await run(options, abort)
} catch (error) {
  if (json && !(error instanceof Reported))
    printResult({ status: 'failed', graphId: null, works: [], answer: '', error: messageOf(error) })
  console.error(`start: ${messageOf(error)}`)
  const cause = error instanceof Reported ? error.cause : error
  process.exitCode = abort.signal.aborted ? 130 : cause instanceof StartError ? cause.exitCode : 1
}
