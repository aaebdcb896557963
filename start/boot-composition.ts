/** Boots a composition file through the real Cordis loader, as DSH itself does. */
import { existsSync, readFileSync } from 'node:fs'
import type { Context } from '@deepseek-ai/cordis'
import { boot } from '@deepseek-ai/dsh-app-boot'
import { parse, type Tags } from 'yaml'
import { StartError } from './start-error.ts'

const BIN = 'start'

/** `!!js` is the loader's own tag; here it only has to parse. */
const LOADER_TAGS: Tags = [{ tag: 'tag:yaml.org,2002:js', resolve: (text: string) => text }]

/** Tells a missing or malformed file before the loader wraps it in its own words. */
function checkFile(path: string): void {
  if (!existsSync(path)) throw new StartError('config', `there is no composition at ${path}`)
  let rows: unknown
  try {
    rows = parse(readFileSync(path, 'utf8'), { customTags: LOADER_TAGS })
  } catch (error) {
    const [line] = (error as Error).message.split('\n')
    throw new StartError('config', `${path} is not valid YAML: ${line?.replace(/:$/u, '')}`, { cause: error })
  }
  if (!Array.isArray(rows)) throw new StartError('config', `${path} is not a list of rows`)
}

/** The loader's own words without the frame that every row of a file has around it. */
function reasonOf(error: unknown): string {
  const [line = String(error)] = (error instanceof Error ? error.message : String(error)).split('\n')
  return line.replace(/^.*?\(cordis:include\): /u, '')
}

/** @throws StartError `config`; the partial context is disposed by then. */
export async function bootComposition(path: string): Promise<Context> {
  checkFile(path)
  try {
    return await boot(BIN, path)
  } catch (error) {
    throw new StartError('config', `${path} does not boot: ${reasonOf(error)}`, { cause: error })
  }
}
