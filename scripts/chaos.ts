/** `pnpm chaos [log|store|loop|hosts|graph]`: runs `packages/<package>/chaos/*-chaos.ts`, kills included. */
import { chosen, emit, freshSeed, houseOptions, targetsIn } from './command-line.ts'

interface Summary {
  readonly suite: string
  readonly rounds: number
  readonly failed: number
  readonly lost: number
  readonly doubled: number
  /** What the kills hit. */
  readonly kills?: Readonly<Record<string, number>>
  /** After how long somebody else went on with what a kill had cut off. */
  readonly takeoverMs?: Readonly<Record<'count' | 'median' | 'p95' | 'max', number>>
  readonly failures: readonly { readonly round: number; readonly seed: number; readonly text: string }[]
}

interface ChaosModule {
  run: (options: { rounds: number; seed: number }) => Promise<Summary>
}

const HELP = `pnpm chaos [log|store|loop|hosts|graph] [--rounds N] [--seed S] [--json]

Kills real processes with SIGKILL at random moments and checks what they acknowledged; \`hosts\` also
stops them, cuts their network, moves their clocks and crashes PostgreSQL. The summary
line is {"suite","rounds","failed","lost","doubled"}; a failed round prints the seed that repeats it
(--rounds 1 --seed <seed>). Default 20 rounds. Exit 1 when a round failed.`

/** The suite's name on the command line is that of its file, but for this one. */
const SUITES: Readonly<Record<string, string>> = { append: 'log' }
const SUFFIX = '-chaos.ts'

const options = houseOptions(HELP, 'rounds')
const targets = targetsIn<ChaosModule>('chaos', SUFFIX, (_dir, file) => {
  const name = file.slice(0, -SUFFIX.length)
  return SUITES[name] ?? name
})
for (const target of chosen(targets, options.target)) {
  const { run } = await target.load()
  const { failures, ...summary } = await run({
    rounds: options.count ?? 20,
    seed: options.seed ?? freshSeed(),
  })
  for (const failure of failures)
    emit(
      options.json,
      { suite: summary.suite, ...failure },
      `${summary.suite} round ${failure.round} failed, --seed ${failure.seed}: ${failure.text}`,
    )
  const { count = 0, median, p95, max } = summary.takeoverMs ?? {}
  const takeovers =
    count === 0 ? '' : `; ${count} takeovers, median ${median} ms, p95 ${p95} ms, longest ${max} ms`
  const kills = Object.entries(summary.kills ?? {}).map(([moment, count]) => `${moment} ${count}`)
  emit(
    options.json,
    summary,
    `${summary.suite}: ${summary.rounds} rounds, ${summary.failed} failed, ${summary.lost} lost, ${summary.doubled} doubled${kills.length === 0 ? '' : `; killed at ${kills.join(', ')}`}${takeovers}`,
  )
  if (summary.failed > 0) process.exitCode = 1
}
