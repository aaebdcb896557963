/** What the repository as a whole must not hold, and what it must not forget. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, matchesGlob, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import projects from '../../vitest.workspace.ts'

const ROOT = resolve(import.meta.dirname, '..', '..')
const BINARY = new Set(['.png', '.jpg', '.webp', '.gif', '.ico', '.woff2', '.sqlite', '.db', '.gz', '.tgz'])

/** Files of the repository: those that are kept, and those that wait to be. */
function repositoryFiles(): readonly string[] {
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  })
  if (listed.status !== 0) throw new Error(`git ls-files: ${listed.stderr}`)
  const removed = spawnSync('git', ['ls-files', '-z', '--deleted'], { cwd: ROOT, encoding: 'utf8' })
  const gone = new Set(removed.stdout.split('\0'))
  return [...new Set(listed.stdout.split('\0'))].filter((file) => file !== '' && !gone.has(file))
}

const texts = repositoryFiles()
  .filter((file) => !BINARY.has(extname(file)))
  .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))

/** `file:line` of every line that the pattern finds. */
function linesWith(pattern: RegExp, among = texts): readonly string[] {
  return among.flatMap(({ file, text }) =>
    text
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  )
}

function withExtension(...extensions: readonly string[]): typeof texts {
  return texts.filter(({ file }) => extensions.includes(extname(file)))
}

describe('no file', () => {
  it('holds a path of one machine', () => {
    const homes = ['work', 'root', 'home', 'Users'].join('|')
    expect(linesWith(new RegExp(`(?:^|[^\\w./-])/(?:${homes})/[\\w.]`, 'u'))).toEqual([])
    expect(linesWith(/\b[A-Z]:\\Users\\/u)).toEqual([])
  })

  it('names a package registry', () => {
    const hosts = String.raw`(?<![\w.])registry\.[a-z0-9-]+\.(?:org|com|net|cn|io|dev)|\bnpmjs\.(?:org|com)|\bnpm\.pkg\.github`
    expect(linesWith(new RegExp(hosts, 'iu'))).toEqual([])
  })

  it('tells the lockfile where a package was fetched', () => {
    const lockfile = texts.filter(({ file }) => file === 'pnpm-lock.yaml')
    expect(lockfile).toHaveLength(1)
    expect(linesWith(/https?:\/\/|tarball:/u, lockfile)).toEqual([])
  })

  it('leaves a test out or runs one alone', () => {
    const specs = texts.filter(({ file }) => file.endsWith('.spec.ts'))
    expect(specs.length).toBeGreaterThan(10)
    const words = ['skip', 'skipIf', 'runIf', 'only', 'todo', 'fails'].join('|')
    expect(
      linesWith(new RegExp(`\\b(?:it|test|describe|suite)(?:\\.\\w+)*\\.(?:${words})\\b`, 'u'), specs),
    ).toEqual([])
    expect(linesWith(/\b(?:it|test)\(['"`][^'"`]*\bshould\b/u, specs)).toEqual([])
  })

  it('carries a note to finish something later', () => {
    // Spelled so that this line does not find itself.
    const words = /\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b/u
    expect(linesWith(words, withExtension('.ts', '.js', '.mjs', '.yml', '.json'))).toEqual([])
  })

  it('turns a rule of the type checker off', () => {
    const directives = ['ts-ignore', 'ts-nocheck', 'ts-expect-error'].map((word) => `@${word}`).join('|')
    expect(linesWith(new RegExp(directives, 'u'), withExtension('.ts'))).toEqual([])
  })
})

describe('every package', () => {
  const folders = readdirSync(join(ROOT, 'packages'))

  it('is built with the others', () => {
    const { references } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
      references: { path: string }[]
    }
    expect(references.map(({ path }) => path).sort()).toEqual(
      folders.map((folder) => `packages/${folder}`).sort(),
    )
  })

  it('has tests', () => {
    const specs = texts.filter(({ file }) => file.endsWith('.spec.ts')).map(({ file }) => file)
    const without = folders.filter(
      (folder) => !specs.some((file) => file.startsWith(`packages/${folder}/tests/`)),
    )
    expect(without).toEqual([])
  })
})

it('runs every test file in one of the projects', () => {
  const patterns = projects.flatMap((project) =>
    typeof project === 'object' && 'test' in project ? (project.test?.include ?? []) : [],
  )
  const specs = texts.filter(({ file }) => file.endsWith('.spec.ts')).map(({ file }) => file)
  expect(specs.filter((file) => !patterns.some((pattern) => matchesGlob(file, pattern)))).toEqual([])
})
