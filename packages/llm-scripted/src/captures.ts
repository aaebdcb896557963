/** Takes a step's captures from a request. Pure. */
import { ScriptedLlmError } from './errors.ts'
import type { RequestView } from './request-view.ts'
import type { Captures } from './templates.ts'
import type { CapturedValue } from './templates.ts'
import type { Capture } from './types.ts'

/**
 * The values of a conversation after a step captured its own. The given ones stay as they are, so that a
 * step which then fails leaves nothing behind.
 *
 * @throws ScriptedLlmError `capture-failed` when a pattern is not found or a number is none.
 */
export function takeCaptures(captures: readonly Capture[], request: RequestView, before: Captures): Captures {
  if (captures.length === 0) return before
  const values = new Map(before)
  for (const capture of captures) values.set(capture.name, take(capture, request))
  return values
}

function take(capture: Capture, request: RequestView): CapturedValue {
  const text = source(capture, request)
  if (capture.all) {
    const pattern = new RegExp(capture.pattern.source, `${capture.pattern.flags}g`)
    const values = [...text.matchAll(pattern)].map((match) => convert(capture, groupOf(capture, match)))
    return capture.unique ? [...new Set(values)] : values
  }
  const match = capture.pattern.exec(text)
  if (match === null) throw failed(capture, `${capture.pattern} is not found in ${capture.from}`)
  return convert(capture, groupOf(capture, match))
}

function source(capture: Capture, request: RequestView): string {
  if (capture.from !== 'lastToolResult') return request[capture.from]
  const result = request.lastToolResult
  if (result === undefined) throw failed(capture, 'the newest input holds no tool result')
  return result.text
}

function groupOf(capture: Capture, match: RegExpExecArray): string {
  const { group } = capture
  const text = typeof group === 'number' ? match[group] : match.groups?.[group]
  if (text === undefined)
    throw failed(capture, `group ${group} of ${capture.pattern} takes no part in the match`)
  return text
}

function convert(capture: Capture, text: string): string | number {
  if (capture.as === 'text') return text
  const number = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isFinite(number)) throw failed(capture, `${JSON.stringify(text.slice(0, 60))} is not a number`)
  return number
}

function failed(capture: Capture, why: string): ScriptedLlmError {
  return new ScriptedLlmError('capture-failed', `the capture "${capture.name}" failed: ${why}`)
}
