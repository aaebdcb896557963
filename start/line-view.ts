/** One line per event: for people without a terminal, and as JSON Lines for programs. */
import type { ProgressEvent, ProgressView } from './progress.ts'

function textOf(event: ProgressEvent): string {
  switch (event.type) {
    case 'work':
      return `work ${event.workId} ${event.status}${event.detail === undefined ? '' : ` (${event.detail})`}`
    case 'turn':
      return `root turn ${event.turn} ${event.phase}${event.detail === undefined ? '' : ` (${event.detail})`}`
    case 'tool':
      return `root calls ${event.name}`
    case 'note':
      return event.text
  }
}

export function createLineView(write: (text: string) => void, startedAt: number): ProgressView {
  return {
    show: (event) => write(`[+${((Date.now() - startedAt) / 1000).toFixed(2)}s] ${textOf(event)}\n`),
    close: () => undefined,
  }
}

export function createJsonView(write: (text: string) => void, startedAt: number): ProgressView {
  return {
    show: (event) => write(`${JSON.stringify({ ...event, elapsedMs: Date.now() - startedAt })}\n`),
    close: () => undefined,
  }
}
