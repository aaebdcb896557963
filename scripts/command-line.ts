/** The command line that `bench`, `chaos` and `fuzz` share, and their JSON Lines. */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const PACKAGES = resolve(import.meta.dirname, '..', 'packages')

export interface HouseOptions {
  readonly target: string | undefined
  readonly json: boolean
  readonly count: number | undefined
  readonly seed: number | undefined
}

/** A module that one of the house commands runs. */
export interface Target<R> {
  /** What the command line calls it. */
  readonly name: string
  readonly load: () => Promise<R>
}

/** Every `packages/<name>/<folder>/*.<folder suffix>.ts`. */
export function targetsIn<R>(
  folder: string,
  suffix: string,
  nameOf: (dir: string, file: string) => string,
): Target<R>[] {
  return readdirSync(PACKAGES)
    .filter((dir) => existsSync(join(PACKAGES, dir, folder)))
    .flatMap((dir) =>
      readdirSync(join(PACKAGES, dir, folder))
        .filter((file) => file.endsWith(suffix))
        .map((file) => ({
          name: nameOf(dir, file),
          load: () => import(pathToFileURL(join(PACKAGES, dir, folder, file)).href) as Promise<R>,
        })),
    )
}

function naturalOf(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  // A run of nothing would report success.
  const least = option === 'seed' ? 0 : 1
  if (!Number.isSafeInteger(value) || value < least)
    throw new Error(`--${option} takes a whole number of at least ${least}, not "${text}"`)
  return value
}

/**
 * Parses `[target] [--json] [--<count> N] [--seed S] [--help]`; prints help or the mistake and ends
 * the process where there is nothing to run.
 */
export function houseOptions(help: string, countOption?: 'rounds' | 'runs'): HouseOptions {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        seed: { type: 'string' },
        rounds: { type: 'string' },
        runs: { type: 'string' },
      },
    })
    if (values.help) {
      console.log(help)
      process.exit(0)
    }
    for (const option of ['rounds', 'runs'] as const)
      if (option !== countOption && values[option] !== undefined)
        throw new Error(`there is no option --${option}`)
    if (positionals.length > 1) throw new Error('name one target at the most')
    return {
      target: positionals[0],
      json: values.json,
      count: countOption === undefined ? undefined : naturalOf(values[countOption], countOption),
      seed: naturalOf(values.seed, 'seed'),
    }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`)
    process.exit(2)
  }
}

/** The targets that the command line names (a package, a whole name, or its last part), or all; ends the process for an unknown one. */
export function chosen<R>(targets: readonly Target<R>[], name: string | undefined): readonly Target<R>[] {
  if (name === undefined) return targets
  const found = targets.filter(
    (target) =>
      target.name === name || target.name.startsWith(`${name}/`) || target.name.endsWith(`/${name}`),
  )
  if (found.length === 0) {
    console.error(`no target "${name}"; there are: ${targets.map((target) => target.name).join(', ')}`)
    process.exit(2)
  }
  return found
}

/** A line for programs, or its text for people. */
export function emit(json: boolean, value: object, text: string): void {
  console.log(json ? JSON.stringify(value) : text)
}

/** A fresh seed for a run without `--seed`; printed, so that the run can be repeated. */
export function freshSeed(): number {
  return Math.trunc(Math.random() * 0x7fff_ffff)
}
