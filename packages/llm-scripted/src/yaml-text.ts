/** YAML text of a script: parsed strictly, with the line of every value. Knows nothing of what a script says. */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml'
import { invalidScript, type ScriptProblem } from './errors.ts'
import type { LineLookup, Path } from './problems.ts'

/** Longest text of a script, in characters. */
export const MAX_SCRIPT_CHARS = 1_000_000

/**
 * Reads one YAML document. Unknown tags, duplicate keys and keys that are not text are refused;
 * anchors and aliases may be used.
 *
 * @param origin names the text in errors.
 * @throws ScriptedLlmError `invalid-script` with the line of each fault.
 */
export function readYaml(text: string, origin: string | undefined): { value: unknown; lineOf: LineLookup } {
  if (text.length > MAX_SCRIPT_CHARS) {
    const message = `is longer than ${MAX_SCRIPT_CHARS} characters; make it smaller`
    throw invalidScript([{ path: '', message }], origin)
  }
  const lines = new LineCounter()
  const { document, value } = parse(text, lines, origin)
  const faults = [...document.errors, ...document.warnings]
  if (faults.length > 0) {
    const problems = faults.map((fault): ScriptProblem => {
      return { path: '', message: fault.message, line: lines.linePos(fault.pos[0]).line }
    })
    throw invalidScript(problems, origin, faults[0])
  }
  return { value, lineOf: (path) => lineIn(document, path, lines) }
}

function parse(
  text: string,
  lineCounter: LineCounter,
  origin: string | undefined,
): { document: Document; value: unknown } {
  try {
    const document = parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      stringKeys: true,
      resolveKnownTags: false,
      logLevel: 'warn',
    })
    return { document, value: document.errors.length > 0 ? undefined : document.toJS() }
  } catch (cause) {
    // Too many aliases, or nested deeper than the parser can follow.
    const message = cause instanceof Error ? cause.message : 'cannot be parsed'
    throw invalidScript([{ path: '', message }], origin, cause)
  }
}

/** The line of the deepest part of a path that the text has. */
function lineIn(document: Document, path: Path, lines: LineCounter): number | undefined {
  let node: unknown = document.contents
  let offset = offsetOf(node)
  for (const key of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key)
      offset = offsetOf(pair?.key) ?? offset
      node = pair?.value
    } else if (isSeq(node) && typeof key === 'number') {
      node = node.items[key]
      offset = offsetOf(node) ?? offset
    } else {
      break
    }
  }
  return offset === undefined ? undefined : lines.linePos(offset).line
}

function offsetOf(node: unknown): number | undefined {
  if (isScalar(node) || isMap(node) || isSeq(node) || isAlias(node)) return node.range?.[0]
  return undefined
}
