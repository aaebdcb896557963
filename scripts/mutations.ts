/**
 * Shows that the tests notice faults. Each mutation of the lists in `packages/<package>/mutations` is
 * applied to a copy of the package, alone, and its spec must then have a failed test with the mutation's
 * mark in its title. The working tree is read and never written. Build first: other packages are used
 * as they are built.
 *
 * `node scripts/mutations.ts <package> [list …]` runs all lists, or the named ones (`registry`).
 * Prints a line for each mutation; exit 1 when one was not noticed or does not fit the code any more.
 * Mutations that do not fit are told before anything runs.
 */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'

/** One small fault in the code, and the tests that must notice it. */
interface Mutation {
  /** Requirement, as it stands in brackets in the titles of the tests that must fail: `R106` for `(R106)`. */
  readonly requirement?: string
  /** Part of those titles, where there are no requirements with a number. */
  readonly title?: string
  /** File below `src`. */
  readonly file: string
  /** Text that occurs once in the file. */
  readonly search: string
  readonly replace: string
  /** Spec below `tests`. */
  readonly spec: string
}

const [packageName = '', ...wantedLists] = process.argv.slice(2)
const root = resolve(import.meta.dirname, '..')

/** Where the package lies in the copy, as in the repository. */
const PLACE = join('packages', packageName)
const own = join(root, PLACE)
const listsDir = join(own, 'mutations')
if (packageName === '' || !existsSync(listsDir))
  throw new Error('name a package that has mutations: node scripts/mutations.ts <package> [list …]')

/** One list's mutations, under its name. */
interface MutationList {
  readonly name: string
  readonly mutations: readonly Mutation[]
}

async function loadLists(wanted: readonly string[]): Promise<MutationList[]> {
  const names = readdirSync(listsDir)
    .map((file) => basename(file, '.ts'))
    .filter((name) => name !== 'mutation')
  const unknown = wanted.filter((name) => !names.includes(name))
  if (unknown.length > 0) throw new Error(`no list ${unknown.join(', ')}; there are ${names.join(', ')}`)
  const chosen = wanted.length > 0 ? wanted : names
  return Promise.all(
    chosen.map(async (name) => {
      const { mutations } = (await import(join(listsDir, `${name}.ts`))) as { mutations: readonly Mutation[] }
      return { name, mutations }
    }),
  )
}

/** A copy that can run the package's tests: sources and specs copied, everything else linked. */
function copyPackage(): string {
  const copy = mkdtempSync(join(tmpdir(), `${packageName}-mutations-`))
  mkdirSync(join(copy, PLACE), { recursive: true })
  mkdirSync(join(copy, 'tests'))
  for (const part of readdirSync(own)) {
    if (part === 'dist' || part === 'node_modules') continue
    cpSync(join(own, part), join(copy, PLACE, part), { recursive: true })
  }
  cpSync(join(root, 'tsconfig.base.json'), join(copy, 'tsconfig.base.json'))
  for (const sibling of readdirSync(join(root, 'packages')))
    if (sibling !== packageName) symlinkSync(join(root, 'packages', sibling), join(copy, 'packages', sibling))
  symlinkSync(join(root, 'tests/support'), join(copy, 'tests/support'))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  symlinkSync(join(own, 'node_modules'), join(copy, PLACE, 'node_modules'))
  const config = {
    test: { include: [`${PLACE}/tests/**/*.spec.ts`], testTimeout: 10_000, hookTimeout: 3000 },
  }
  writeFileSync(join(copy, 'package.json'), '{ "type": "module" }\n')
  writeFileSync(join(copy, 'vitest.config.ts'), `export default ${JSON.stringify(config)}\n`)
  return copy
}

interface TestResult {
  readonly title: string
  readonly status: string
}

/** Runs specs in the copy, or those of their tests that have `tag` in the title. A spec that cannot even be loaded has no results. */
function runSpecs(copy: string, specs: readonly string[], tag?: string): TestResult[] {
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const files = specs.map((spec) => `${PLACE}/tests/${spec}`)
  const some = tag === undefined ? [] : ['-t', tag.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)]
  const args = [
    vitest,
    'run',
    '--root',
    copy,
    '--reporter',
    'json',
    '--outputFile',
    report,
    ...some,
    ...files,
  ]
  spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', timeout: 180_000 })
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { assertionResults: TestResult[] }[]
  }
  return testResults.flatMap(({ assertionResults }) => assertionResults)
}

/** Why a mutation cannot be applied, or nothing. */
function misfit({ file, search }: Mutation): string | undefined {
  const found = readFileSync(join(own, 'src', file), 'utf8').split(search).length - 1
  return found === 1 ? undefined : `${file} has ${found} times: ${search}`
}

/** Applies a mutation while `use` runs. */
function withMutation<T>(copy: string, { file, search, replace }: Mutation, use: () => T): T {
  const path = join(copy, PLACE, 'src', file)
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replace(search, () => replace),
  )
  try {
    return use()
  } finally {
    writeFileSync(path, text)
  }
}

function markOf({ requirement, title = '' }: Mutation): string {
  return requirement === undefined ? title : `(${requirement})`
}

/** What is wrong with a mutation, or nothing when its tests noticed it. */
function judge(copy: string, mutation: Mutation): string | undefined {
  const tag = markOf(mutation)
  const results = withMutation(copy, mutation, () => runSpecs(copy, [mutation.spec], tag))
  if (results.length === 0) return 'the mutated code cannot be loaded, which shows nothing'
  const named = results.filter(({ title }) => title.includes(tag))
  if (named.length === 0) return `${mutation.spec} has no test of it`
  return named.some(({ status }) => status === 'failed') ? undefined : 'no test of it failed'
}

function judged(copy: string, mutation: Mutation): string | undefined {
  try {
    return judge(copy, mutation)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const lists = await loadLists(wantedLists)
const misfits = lists.flatMap(({ mutations }) => mutations.flatMap((mutation) => misfit(mutation) ?? []))
if (misfits.length > 0) throw new Error(`these do not fit the code any more:\n${misfits.join('\n')}`)
const copy = copyPackage()
let missed = 0
try {
  const specs = [...new Set(lists.flatMap(({ mutations }) => mutations.map(({ spec }) => spec)))]
  const untouched = runSpecs(copy, specs)
  const broken = untouched.filter(({ status }) => status === 'failed')
  if (untouched.length === 0 || broken.length > 0) {
    const titles = broken.map(({ title }) => `\n${title}`).join('')
    throw new Error(`without a mutation ${broken.length} of ${untouched.length} tests fail${titles}`)
  }
  console.log(`${untouched.length} tests pass without a mutation`)
  for (const { name, mutations } of lists) {
    for (const mutation of mutations) {
      const problem = judged(copy, mutation)
      if (problem !== undefined) missed++
      const verdict = problem === undefined ? 'noticed' : `NOT NOTICED: ${problem}`
      console.log(`${name} ${markOf(mutation)} ${mutation.file}: ${verdict}`)
    }
  }
  const count = lists.reduce((sum, { mutations }) => sum + mutations.length, 0)
  console.log(`${count - missed} of ${count} mutations noticed`)
} finally {
  rmSync(copy, { recursive: true, force: true })
}
if (missed > 0) process.exitCode = 1
