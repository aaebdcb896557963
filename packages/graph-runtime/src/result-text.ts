/** The text of a result that a model reads, cut where the author says, and never silently. */
import type { JsonValue } from '@deepseek-ai/dsh-tools'
import { prettyJson } from './pretty-json.ts'

/** Whether a cut here would halve a character. */
function splitsCharacter(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  return before >= 0xd800 && before <= 0xdbff
}

/**
 * Pretty JSON of the result.
 *
 * @param maxChars longest JSON text, in UTF-16 units; what is cut off is counted in a note after it.
 */
export function resultText(value: JsonValue, maxChars: number | undefined): string {
  const text = prettyJson(value)
  if (maxChars === undefined || text.length <= maxChars) return text
  const shown = text.slice(0, splitsCharacter(text, maxChars) ? maxChars - 1 : maxChars)
  return `${shown}\n[truncated: the first ${shown.length} of ${text.length} characters of the result]`
}
