/** `pnpm check:packages`: publint and "are the types wrong" over every packed package. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { packAll } from './pack.ts'

const BIN = resolve(import.meta.dirname, '..', 'node_modules', '.bin')
const destination = mkdtempSync(join(tmpdir(), 'dsh-graph-pack-'))
let failed = 0
let passed = 0

function check(label: string, bin: string, args: readonly string[]): void {
  const result = spawnSync(join(BIN, bin), args, { encoding: 'utf8' })
  if (result.status === 0) {
    passed += 1
    console.log(`ok ${label}`)
    return
  }
  failed += 1
  console.error(`not ok ${label}\n${result.stdout}${result.stderr}`)
}

try {
  for (const { name, tarball } of packAll(destination)) {
    check(`${name} publint`, 'publint', ['run', tarball, '--strict'])
    // Packages are ESM only; JSON and icon doors have no types, and a browser half is DSH's to load.
    check(`${name} types`, 'attw', [
      tarball,
      '--profile',
      'esm-only',
      '--exclude-entrypoints',
      'locale/*.json',
      'icon',
      'client',
    ])
  }
} finally {
  rmSync(destination, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
