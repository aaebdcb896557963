/**
 * The fenced blocks of the documents, and what stands above one of them as a comment:
 *
 * - `<!-- save: path -->`: a walk through the document writes the block into that file.
 * - `<!-- file: path -->`: the block stands in that file of the repository.
 * - `<!-- patch -->`: rows that change rows of the bundle, as in a `cordis.patch.yml`.
 * - `<!-- stays -->`: a command that goes on beside what follows.
 * - `<!-- output -->`: what the commands right above print, up to ids, numbers and times.
 * - `<!-- not run: reason -->`: nothing runs it, and why.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './composition.ts'

export type Marker = 'save' | 'file' | 'patch' | 'stays' | 'output' | 'not run'

export interface Snippet {
  /** Path of the document in the repository. */
  readonly file: string
  /** Where the fence is, from 1. */
  readonly line: number
  /** After the fence; empty for a drawing. */
  readonly language: string
  readonly text: string
  readonly marker: Marker | undefined
  /** What stands in the marker. */
  readonly value: string
}

const FENCE =
  /(?:^<!-- (save|file|patch|stays|output|not run)(?:: ([^\n]*?))? -->\n\n?)?^```([a-z]*)\n(?:([^]*?)\n)?```$/gmu

/** Documents of people, English ones; the other language stands beside. */
export function documents(): readonly string[] {
  const patterns = ['README.md', 'docs/*.md', 'packages/*/README.md', 'examples/*/README.md']
  return patterns
    .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
    .filter((file) => !file.endsWith('.zh-CN.md'))
    .sort()
}

export function inChinese(file: string): string {
  return file.replace(/\.md$/u, '.zh-CN.md')
}

export function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

export function snippetsOf(file: string): readonly Snippet[] {
  const text = textOf(file)
  return [...text.matchAll(FENCE)].map((match) => {
    const [whole, marker, value = '', language = '', body = ''] = match
    const fence = match.index + whole.indexOf('```')
    return {
      file,
      line: text.slice(0, fence).split('\n').length,
      language,
      text: body,
      marker: marker as Marker | undefined,
      value: value.trim(),
    }
  })
}

/** As it is told in a test's title or a message. */
export function placeOf({ file, line }: Pick<Snippet, 'file' | 'line'>): string {
  return `${file}:${line}`
}
