/**
 * What the replies say about tools: a line for each call when the person wants it, and which failure is
 * to be told when there is nothing else to say. Pure.
 */
import type { JsonValue } from 'dsh-durable-log'
import { cutText } from '../streams/tool-content.ts'
import type { EventBlock, ToolData } from '../streams/types.ts'

const MAX_ARGUMENTS = 160
const MAX_FAILURE = 600

type Start = Extract<ToolData, { phase: 'start' }>
type End = Extract<ToolData, { phase: 'end' }>

/** Failures of a call that the model is expected to correct itself, and that concern no person. */
const CORRECTABLE = new Set(['INVALID_ARGS', 'UNKNOWN_TOOL', 'INVALID_TOOL_OUTPUT'])
const CORRECTABLE_TEXT = /\b(?:required|missing|invalid|must be|must have|expected)\b/i

export interface ToolFailure {
  readonly name: string
  readonly message: number
  readonly text: string
}

export class ToolNotes {
  private readonly starts = new Map<string, Start>()
  /** The last failure of each action that did not succeed afterwards. */
  private readonly failures = new Map<string, ToolFailure>()

  started(call: Start): void {
    this.starts.set(call.callId, call)
  }

  /** @returns the line about the call. */
  ended(call: End): string {
    const args = this.starts.get(call.callId)?.args
    this.starts.delete(call.callId)
    if (!call.isError) this.succeeded(call, args)
    else if (!isCorrectable(call)) {
      const text = firstLines(call.content)
      const action = fingerprint(call.name, args)
      this.failures.delete(action)
      this.failures.set(action, { name: call.name, message: call.message, text })
    }
    const shown = args === undefined || isEmpty(args) ? '' : ` ${cutLine(JSON.stringify(args))}`
    return `${call.name}${shown}${call.isError ? ' – failed' : ''}`
  }

  /** The last failure that nothing made good. */
  get failure(): ToolFailure | undefined {
    return [...this.failures.values()].at(-1)
  }

  private succeeded({ name }: End, args: JsonValue | undefined): void {
    this.failures.delete(fingerprint(name, args))
  }
}

/** The reply of last resort. */
export function failureText({ name, text }: ToolFailure): string {
  return text === '' ? `The tool "${name}" failed.` : `The tool "${name}" failed: ${text}`
}

function isCorrectable({ code, content }: End): boolean {
  return (code !== undefined && CORRECTABLE.has(code)) || CORRECTABLE_TEXT.test(firstLines(content))
}

function fingerprint(name: string, args: JsonValue | undefined): string {
  return `${name} ${JSON.stringify(args ?? null)}`
}

function firstLines(content: readonly EventBlock[]): string {
  const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
  return cutText(text.trim().replace(/^Error: /, ''), MAX_FAILURE)
}

function cutLine(text: string): string {
  return text.length <= MAX_ARGUMENTS ? text : `${text.slice(0, MAX_ARGUMENTS - 1).toWellFormed()}…`
}

function isEmpty(args: JsonValue): boolean {
  return typeof args === 'object' && args !== null && Object.keys(args).length === 0
}
