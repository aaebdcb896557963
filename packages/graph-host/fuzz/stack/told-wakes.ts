/** What a root session was told by wakes, as its stored log says. Pure. */
import type { SessionEvent } from '@deepseek-ai/dsh-session'

export interface ToldWake {
  /** `work status`, for each work that the message tells of. */
  readonly tells: readonly string[]
  /** The message says that there is more than it tells. */
  readonly isCut: boolean
  /** Its turn came to an end of its own, or a person ended it. */
  readonly isOver: boolean
}

const LINE = /^- (\S+) (completed|failed|cancelled|stopped|superseded|skipped)\b/gmu

/** The wakes of a root, one for each turn that began with one. */
export function toldWakes(events: readonly SessionEvent[]): readonly ToldWake[] {
  const wakes: ToldWake[] = []
  let text: string | undefined
  for (const event of events) {
    if (event.type === 'turn/start') text = undefined
    if (event.type === 'user/message') text ??= wakeText(event)
    if (event.type !== 'turn/end' || text === undefined) continue
    const { kind } = event.data.reason
    wakes.push({
      tells: [...text.matchAll(LINE)].map(([, work, status]) => `${work} ${status}`),
      isCut: text.includes('… and more'),
      isOver: kind === 'completed' || kind === 'aborted',
    })
    text = undefined
  }
  return wakes
}

function wakeText({ data }: SessionEvent<'user/message'>): string | undefined {
  const text = data.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
  return text.startsWith('Agent graph ') ? text : undefined
}
