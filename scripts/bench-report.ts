/**
 * `pnpm bench:report`: runs every bench in a process of its own, several times, and writes the pages of
 * figures, or compares them with the committed baseline.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Baseline, baselineOf, missingIn, regressionsOf } from './bench-report/baseline.ts'
import { chartOf } from './bench-report/chart.ts'
import type { PackageFigure } from './bench-report/figure-keys.ts'
import { packagesOf, pageOf, PAGES, type Run } from './bench-report/pages.ts'
import { type Summary, summarize } from './bench-report/rounds.ts'
import { targetsIn } from './command-line.ts'

const HELP = `pnpm bench:report [--check] [--rounds N] [package]

Runs every bench N times (default 3), each in a process of its own. Writes docs/performance.md, its
Chinese version, the charts and the baseline. --check writes nothing: it compares with the committed
baseline, runs what looks worse once more, and exits 1 where a figure stays worse beyond noise.`

const ROOT = resolve(import.meta.dirname, '..')
const DOCS = join(ROOT, 'docs')
const BASELINE = join(import.meta.dirname, 'bench-report', 'baseline.json')
const MEASURED_AGAINST = ['@langchain/langgraph', '@deepseek-ai/dsh-agent', 'p-queue', 'pg', 'zod']

const { positionals, values } = options()
const rounds = Number(values.rounds)
const targets = targetsIn('bench', '.bench.ts', (dir, file) => `${dir}/${file.replace(/\.bench\.ts$/u, '')}`)
  .map(({ name }) => name)
  .filter((name) => positionals[0] === undefined || name.split('/')[0] === positionals[0])
if (targets.length === 0) refuse(`no package "${positionals[0]}" with benches`)
if (values.check) check()
else report()

function options() {
  try {
    const parsed = parseArgs({
      allowPositionals: true,
      options: {
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        rounds: { type: 'string', default: '3' },
      },
    })
    if (parsed.values.help) {
      console.log(HELP)
      process.exit(0)
    }
    const count = Number(parsed.values.rounds)
    if (!Number.isSafeInteger(count) || count < 1) throw new Error('--rounds takes a whole number from 1')
    if (parsed.positionals.length > 1) throw new Error('name one package at the most')
    return parsed
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function refuse(reason: string): never {
  console.error(`${reason}\n\n${HELP}`)
  process.exit(2)
}

function report(): void {
  if (positionals.length > 0) refuse('the pages hold all packages; a package is for --check')
  const before = loadavg()[0] ?? 0
  const summaries = summarize(Array.from({ length: rounds }, () => roundOf(targets)))
  const run: Run = {
    summaries,
    rounds,
    machine: machine(),
    versions: versions(),
    load: [before, loadavg()[0] ?? 0],
  }
  for (const { file, words } of PAGES) writeFileSync(join(DOCS, file), pageOf(run, words))
  for (const name of packagesOf(summaries)) {
    const own = summaries.filter(({ figure }) => figure.package === name)
    if (own.every(({ share }) => share === undefined)) continue
    writeFileSync(
      join(DOCS, 'images', `performance-${name}.svg`),
      chartOf(own, { title: name, allowed: '100 %' }),
    )
  }
  writeFileSync(BASELINE, `${JSON.stringify(baselineOf(summaries, machine(), rounds), undefined, 2)}\n`)
  for (const { key, share = 0, value } of summaries) if (share > 1) console.log(`missed: ${key} ${value}`)
  console.log(`${summaries.length} figures in ${rounds} rounds`)
}

function check(): void {
  const baseline = JSON.parse(readFileSync(BASELINE, 'utf8')) as Baseline
  const runs = Array.from({ length: rounds }, () => roundOf(targets))
  let summaries = summarize(runs)
  if (regressionsOf(baseline, summaries).length > 0) {
    // Neighbours make a run slow and never faster than the code is: the better round counts.
    const again = summarize([roundOf(targets)])
    summaries = summaries.map((summary) =>
      better(
        summary,
        again.find(({ key }) => key === summary.key),
      ),
    )
  }
  const worse = regressionsOf(baseline, summaries)
  const missing = missingIn(baseline, summaries, new Set(targets.map((name) => name.split('/')[0] ?? '')))
  for (const { band, is, key, times, was } of worse)
    console.log(
      `worse: ${key} was ${was}, is ${is}: ${times.toFixed(2)} times what it took, beyond ${(1 + band).toFixed(2)}`,
    )
  for (const key of missing) console.log(`missing: ${key} is in the baseline and was not measured`)
  console.log(`${summaries.length} figures, ${worse.length} worse, ${missing.length} missing`)
  if (worse.length + missing.length > 0) process.exitCode = 1
}

function better(one: Summary, other: Summary | undefined): Summary {
  return other !== undefined && (other.share ?? 0) < (one.share ?? 0) ? other : one
}

function roundOf(names: readonly string[]): readonly PackageFigure[] {
  return names.flatMap((name) => {
    const bench = join(import.meta.dirname, 'bench.ts')
    const { status, stdout, stderr } = spawnSync(process.execPath, [bench, name, '--json'], {
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`bench ${name} failed: ${stderr}`)
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
    const found = lines
      .map((line) => JSON.parse(line) as PackageFigure)
      .filter(({ bench: told }) => told !== undefined)
    console.error(`${name}: ${found.length} figures`)
    return found
  })
}

function machine(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown'
  const memory = (totalmem() / 1024 ** 3).toFixed(0)
  return `${cpus().length}x ${model}, ${memory} GiB, ${process.platform} ${release()}, Node ${process.version}`
}

function versions(): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of MEASURED_AGAINST) {
    const from = ['graph-runtime', 'agent-loop', 'durable-log', 'graph-host'].map((dir) =>
      join(ROOT, 'packages', dir),
    )
    const version = from.map((dir) => versionIn(dir, name)).find((known) => known !== undefined)
    if (version !== undefined) found[name] = version
  }
  return found
}

function versionIn(dir: string, name: string): string | undefined {
  const paths = createRequire(join(dir, 'package.json')).resolve.paths(name) ?? []
  for (const path of paths) {
    try {
      return (JSON.parse(readFileSync(join(path, name, 'package.json'), 'utf8')) as { version: string })
        .version
    } catch {
      // Not here; the next folder up.
    }
  }
  return undefined
}
