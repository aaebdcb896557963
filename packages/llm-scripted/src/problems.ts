/** Collects what is wrong with a script, each fault with its place. Decides nothing. */
import type { ScriptProblem } from './errors.ts'

/** Keys and indexes from the root of the script to a value. */
export type Path = readonly (string | number)[]

/** Tells the line of a value in the text it came from. */
export type LineLookup = (path: Path) => number | undefined

export class Problems {
  private readonly found: ScriptProblem[] = []
  private readonly lineOf: LineLookup

  constructor(lineOf: LineLookup = () => undefined) {
    this.lineOf = lineOf
  }

  add(path: Path, message: string): void {
    const line = this.lineOf(path)
    this.found.push({ path: pathText(path), message, ...(line === undefined ? {} : { line }) })
  }

  get list(): readonly ScriptProblem[] {
    return this.found
  }
}

/** A bounded quotation of foreign text. */
export function quote(text: string, limit = 60): string {
  return JSON.stringify(text.length > limit ? `${text.slice(0, limit)}…` : text)
}

function pathText(path: Path): string {
  let text = ''
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else if (/^[A-Za-z_][\w-]{0,59}$/.test(key)) text += text === '' ? key : `.${key}`
    else text += `[${quote(key)}]`
  }
  return text
}
