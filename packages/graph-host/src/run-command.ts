/**
 * What the files behind the shell commands have in common: the command always exits, with the code that it
 * gives, and what it wrote is out before.
 */
import process from 'node:process'

/** The packages of DSH that a command reads with are the profile's; without them it says so. */
const NO_PACKAGES = 69
const DEFECT = 70

interface Surroundings {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly environment: NodeJS.ProcessEnv
}

/** @returns the exit code. */
type Main = (args: readonly string[], surroundings: Surroundings) => Promise<number>

/** @param load the command itself, loaded late: a package that is missing is told of, and is no crash. */
export async function runCommand(name: string, load: () => Promise<{ readonly main: Main }>): Promise<void> {
  const { env: environment, stderr, stdout } = process
  // The reader of the lines has gone: there is nobody left to tell.
  stdout.on('error', () => process.exit(process.exitCode ?? 0))
  try {
    const { main } = await load()
    exit(await main(process.argv.slice(2), { stdout, stderr, environment }))
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
    const message = error instanceof Error ? error.message : String(error)
    const cure = isMissing ? '; run it from a DSH profile that has been started once' : ''
    stderr.write(`${name}: ${message}${cure}\n`)
    exit(isMissing ? NO_PACKAGES : DEFECT)
  }
}

function exit(code: number): void {
  process.exitCode = code
  // What was written is out before the process ends, whatever is still open.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
}
