#!/usr/bin/env node
/** The file behind the shell command `dsh-graph`. Always exits, with the code that the command gives. */
import process from 'node:process'

/** The packages of DSH that the command reads with are the profile's; without them it says so. */
const NO_PACKAGES = 69

// The reader of the lines has gone: there is nobody left to tell.
process.stdout.on('error', () => process.exit(process.exitCode ?? 0))

function exit(code: number): void {
  process.exitCode = code
  // What was written is out before the process ends, whatever is still open.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}

try {
  const { main } = await import('./shell.ts')
  exit(
    await main(process.argv.slice(2), {
      stdout: process.stdout,
      stderr: process.stderr,
      environment: process.env,
    }),
  )
} catch (error) {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(
    isMissing
      ? `dsh-graph: ${message}; run it from a DSH profile that has been started once\n`
      : `dsh-graph: ${message}\n`,
  )
  exit(isMissing ? NO_PACKAGES : 70)
}
