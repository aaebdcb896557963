/**
 * What importing the built package takes on top of the host packages, which a running DSH has loaded
 * anyway; each time in a fresh process, and no LangChain module may be among what it loads. The ratio is
 * the cost over the import of the host packages.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { figureOf, type BenchFigure } from '../../../scripts/figures.ts'

const PROCESSES = 15
const HOST = ['cordis', 'dsh-llm', 'dsh-scope', 'dsh-session', 'dsh-tools', 'schemastery']

interface Sample {
  readonly hostMs: number
  readonly ownMs: number
}

function sample(root: string, script: string): Sample {
  const options = { cwd: root, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script],
    options,
  )
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Sample
}

export async function run(): Promise<BenchFigure[]> {
  const root = resolve(import.meta.dirname, '..')
  const built = resolve(root, 'dist/index.js')
  if (!existsSync(built)) throw new Error('build the package first: node scripts/build.ts graph-runtime')
  const script = `
    import { registerHooks } from 'node:module'
    const foreign = []
    registerHooks({ resolve: (spec, context, next) => {
      const found = next(spec, context)
      if (/langchain|langsmith/.test(found.url)) foreign.push(found.url)
      return found
    } })
    let start = performance.now()
    for (const name of ${JSON.stringify(HOST)}) await import('@deepseek-ai/' + name)
    const hostMs = performance.now() - start
    start = performance.now()
    await import(${JSON.stringify(built)})
    const ownMs = performance.now() - start
    if (foreign.length > 0) throw new Error('loads ' + foreign[0])
    console.log(JSON.stringify({ hostMs, ownMs }))`
  const samples = Array.from({ length: PROCESSES }, () => sample(root, script))
  return [
    figureOf('import', 'ms', {
      ours: samples.map(({ ownMs }) => ownMs),
      base: samples.map(({ hostMs }) => hostMs),
      baseline: 'cost over importing the host packages',
    }),
  ]
}
