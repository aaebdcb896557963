/** `pnpm start`: boots cordis.yml and runs one supervised graph. See `HELP`. */
import { join, resolve } from 'node:path'
import { createBoardView } from './board-view.ts'
import { createJsonView, createLineView } from './line-view.ts'
import { DEFAULT_TASK, HELP, parseOptions, type StartOptions } from './options.ts'
import type { ProgressView } from './progress.ts'
import { StartError } from './start-error.ts'
import { newErrand, prepareStateDir, readErrand } from './state-dir.ts'

const PROJECT = resolve(import.meta.dirname, '..')

function viewOf(options: StartOptions, startedAt: number): ProgressView {
  const write = (text: string) => void process.stdout.write(text)
  if (options.json) return createJsonView(write, startedAt)
  return process.stdout.isTTY ? createBoardView(process.stdout, startedAt) : createLineView(write, startedAt)
}

async function run(options: StartOptions, abort: AbortController): Promise<void> {
  const launchedAt = Date.now()
  prepareStateDir(options.stateDir)
  process.env['DSH_HOME'] = join(options.stateDir, 'home')
  process.env['DSH_TELEMETRY_DISABLED'] = '1'
  process.env['DSH_GRAPH_SCRIPT'] ??= join(import.meta.dirname, 'demo.script.yml')
  const errand = options.resume
    ? readErrand(options.stateDir)
    : newErrand(options.stateDir, options.task ?? DEFAULT_TASK)

  // The composition is imported only now: its modules read DSH_HOME.
  const { bootComposition } = await import('./boot-composition.ts')
  const { Supervision } = await import('./supervise.ts')
  const ctx = await bootComposition(options.config)
  const startedAt = Date.now()
  const view = viewOf(options, startedAt)
  try {
    const bootMs = startedAt - launchedAt
    view.show({
      type: 'note',
      text: `state in ${options.stateDir}; task: ${errand.task}; booted in ${bootMs} ms`,
    })
    const { graphId, works, answer } = await new Supervision(ctx, errand, view).run(abort.signal)
    view.close()
    const result = {
      type: 'result',
      status: 'completed',
      graphId,
      stateDir: options.stateDir,
      bootMs,
      runMs: Date.now() - startedAt,
      works,
      answer,
    }
    if (options.json) console.log(JSON.stringify(result))
    else
      console.log(
        `\n${answer}\n\ngraph ${graphId} finished in ${result.runMs} ms (boot ${bootMs} ms); state: ${options.stateDir}`,
      )
  } catch (error) {
    view.close()
    if (options.json && !abort.signal.aborted) {
      const { message } = error as Error
      console.log(
        JSON.stringify({
          type: 'result',
          status: 'failed',
          graphId: null,
          works: [],
          answer: '',
          error: message,
        }),
      )
    }
    throw error
  } finally {
    await ctx.root.fiber.dispose()
  }
}

const abort = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () =>
    abort.abort(new StartError('run', `interrupted by ${signal}; go on with --resume`)),
  )

try {
  const options = parseOptions(process.argv.slice(2), process.cwd(), PROJECT)
  if (options.help) console.log(HELP)
  else await run(options, abort)
} catch (error) {
  const { message } = error as Error
  console.error(`start: ${message.replaceAll(/\s*\n\s*/gu, ' ')}`)
  process.exitCode = abort.signal.aborted ? 130 : error instanceof StartError ? error.exitCode : 1
}
