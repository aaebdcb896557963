/** One box of the picture: a work, or the works of a group. */
import { memo } from 'react'
import type { WorkCard } from '../src/feed/wire.ts'
import { isEnded } from './graph-model.ts'
import { BOX_HEIGHT, BOX_WIDTH, type Place } from './layout.ts'
import { useNow } from './page.ts'
import type { Box } from './picture.ts'
import { MarkShape } from './status-mark.tsx'
import { markOf, type Mark } from './status.ts'
import { statusText, waitText, type Words } from './words.ts'

export interface BoxProps {
  readonly box: Box
  readonly place: Place
  readonly isSelected: boolean
  /** The one that Tab leads to. */
  readonly isEntry: boolean
  readonly words: Words
  readonly onPick: (box: Box) => void
}

interface Face {
  readonly mark: Mark
  readonly word: string
  readonly title: string
  readonly detail: string
  readonly label: string
}

function BoxShape({ face, ...props }: BoxProps & { face: Face }) {
  const { box, place, isSelected, isEntry, onPick } = props
  return (
    <g
      className={`dg-node dg-is-${face.mark}${box.group === undefined ? '' : ' dg-group'}`}
      transform={`translate(${place.x} ${place.y})`}
      role="button"
      tabIndex={isEntry ? 0 : -1}
      aria-pressed={isSelected}
      data-box={box.id}
      data-testid="dg-node"
      data-status={face.mark}
      onClick={() => onPick(box)}
    >
      {/* The name of the button, and the whole text where the box cuts it. */}
      <title>{face.label}</title>
      {box.group === undefined ? null : (
        <rect className="dg-behind" x={4} y={4} width={BOX_WIDTH} height={BOX_HEIGHT} rx={8} />
      )}
      <rect className="dg-box" width={BOX_WIDTH} height={BOX_HEIGHT} rx={8} />
      <MarkShape mark={face.mark} x={10} y={9} />
      <g clipPath="url(#dg-inside)">
        <text aria-hidden="true" className="dg-title" x={33} y={22}>
          {shorten(face.title, 22)}
        </text>
        <text aria-hidden="true" className="dg-word" x={33} y={39}>
          {shorten(face.word, 27)}
        </text>
        <text aria-hidden="true" className="dg-detail" x={33} y={54}>
          {shorten(face.detail, 28)}
        </text>
      </g>
    </g>
  )
}

/** A work. Only what shows of it draws it anew. */
export const WorkBox = memo(function WorkBox(
  props: BoxProps & { work: WorkCard | undefined; titleOf: (id: string) => string },
) {
  const { work, words, titleOf } = props
  const isRunning = work?.status === 'running' && work.waits === undefined
  const now = useNow(isRunning)
  if (work === undefined) return <BoxShape {...props} face={absentFace(props.box.id)} />
  const waits = waitText(words, work, titleOf)
  const word = statusText(words, work)
  const detail = isRunning || isEnded(work.status) ? factsOf(words, work, now) : (waits ?? '')
  const label = [work.title, word, waits, work.reason].filter((part) => part !== undefined).join('. ')
  return <BoxShape {...props} face={{ mark: markOf(work), word, title: work.title, detail, label }} />
})

function absentFace(id: string): Face {
  return { mark: 'absent', word: '', title: id, detail: '', label: id }
}

function factsOf({ say, duration, count }: Words, work: WorkCard, now: number): string {
  const { attempt = 1, startedAt, endedAt, inputTokens, outputTokens, reason, status } = work
  const tokens = (inputTokens ?? 0) + (outputTokens ?? 0)
  const facts = [
    ...(attempt > 1 ? [`${say('panel.attempt')} ${attempt}`] : []),
    ...(startedAt === undefined ? [] : [duration((endedAt ?? now) - startedAt)]),
    ...(tokens === 0 ? [] : [`${count(tokens)} tok`]),
    ...(reason === undefined || status === 'completed' ? [] : [reason]),
    ...(status === 'running' ? [say('runs.model')] : []),
  ]
  return facts.join(' · ')
}

/** The works of one wave and one kind of operator. */
export const GroupBox = memo(function GroupBox(
  props: BoxProps & { done: number; failed: number; running: number; inLine: number },
) {
  const { box, words, done, failed, running, inLine } = props
  const { say } = words
  const total = box.workIds.length
  const title = say('group.name', { wave: box.wave + 1, target: box.group?.target ?? '' })
  const word = say('group.progress', { done, total })
  const parts = [
    ...(failed > 0 ? [say('group.failed', { count: failed })] : []),
    ...(running > 0 ? [say('group.running', { count: running })] : []),
    ...(inLine > 0 ? [say('group.inLine', { count: inLine })] : []),
  ]
  const mark: Mark =
    failed > 0 ? 'failed' : done === total ? 'completed' : running > 0 ? 'running' : 'waiting'
  const detail = parts.join(' · ')
  const label = [title, word, ...parts, say('group.open')].join('. ')
  return <BoxShape {...props} face={{ mark, word, title, detail, label }} />
})

function shorten(text: string, chars: number): string {
  const wide = [...text]
  let room = chars
  let end = 0
  for (const char of wide) {
    room -= /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uff00-\uff60]/u.test(char) ? 2 : 1
    if (room < 0) return `${wide.slice(0, end).join('')}…`
    end += 1
  }
  return text
}
