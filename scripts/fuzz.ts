/** `pnpm fuzz [target]`: runs `packages/<package>/fuzz/<name>.fuzz.ts`. */
import { chosen, emit, freshSeed, houseOptions, targetsIn } from './command-line.ts'

interface Summary {
  readonly target: string
  readonly runs: number
  readonly failed: number
  readonly failures: readonly { readonly seed: number; readonly text: string }[]
}

interface FuzzModule {
  run: (options: { runs: number; seed: number }) => Promise<Summary>
}

const HELP = `pnpm fuzz [target] [--runs N] [--seed S] [--json]

Feeds random hostile input. A target is a package, <package>/<name>, or just a
name. A failed run prints the seed that repeats it (--runs 1 --seed <seed>). Default 1000 runs.
Exit 1 when a run failed.`

const options = houseOptions(HELP, 'runs')
const targets = targetsIn<FuzzModule>(
  'fuzz',
  '.fuzz.ts',
  (dir, file) => `${dir}/${file.replace(/\.fuzz\.ts$/u, '')}`,
)
for (const target of chosen(targets, options.target)) {
  const { run } = await target.load()
  const summary = await run({ runs: options.count ?? 1000, seed: options.seed ?? freshSeed() })
  for (const failure of summary.failures)
    emit(
      options.json,
      { target: target.name, ...failure },
      `${target.name} failed, --seed ${failure.seed}: ${failure.text}`,
    )
  const { failures: _shown, ...line } = summary
  emit(
    options.json,
    { ...line, target: target.name },
    `${target.name}: ${summary.runs} runs, ${summary.failed} failed`,
  )
  if (summary.failed > 0) process.exitCode = 1
}
