/**
 * What is drawn of a graph: a box for each work, and from {@link GROUP_FROM} works on a box for all
 * works of one wave that the same kind of operator does. Trouble is never hidden in a group. Pure.
 */
import type { WorkCard } from '../src/feed/wire.ts'
import { isEnded } from './graph-model.ts'
import { inputWorks, wavesOf } from './waves.ts'

export const GROUP_FROM = 60
/** From here on waves that are over are drawn as one box each. */
const COLLAPSE_FROM = 24
/** Works with trouble that stand alone though the graph is grouped. */
const TROUBLES = 12
/** Works of an opened group that are drawn; the list has them all. */
const OPENED = 48

export interface Box {
  readonly id: string
  readonly wave: number
  /** One id for a work. */
  readonly workIds: readonly string[]
  readonly group?: { readonly target: string; readonly isOver: boolean }
}

export interface Line {
  readonly from: string
  readonly to: string
}

/** Works that one operator does in its one session, as far as they are drawn one by one. */
export interface Operator {
  readonly sessionId: string
  readonly boxIds: readonly string[]
}

export interface Picture {
  readonly boxes: readonly Box[]
  readonly lines: readonly Line[]
  /** Those that do more than one work, in order of their first. */
  readonly operators: readonly Operator[]
  readonly boxOf: ReadonlyMap<string, string>
  /** Equal for pictures that are laid out alike. */
  readonly key: string
}

export interface PictureOptions {
  /** Groups that are opened, by box id. */
  readonly opened: ReadonlySet<string>
  readonly grouping: 'auto' | 'never'
  /** A work that is never hidden. */
  readonly selected?: string | undefined
}

export function groupId(wave: number, target: string): string {
  return `group:${wave}:${target}`
}

export function pictureOf(works: ReadonlyMap<string, WorkCard>, options: PictureOptions): Picture {
  const waves = wavesOf(works)
  const boxes = boxesOf(works, waves, options)
  const boxOf = new Map(boxes.flatMap((box) => box.workIds.map((id) => [id, box.id] as const)))
  const lines = linesOf(works, boxOf)
  const operators = operatorsOf(works, boxes)
  const key = [
    boxes.map((box) => box.id),
    lines.map((line) => `${line.from}>${line.to}`),
    operators.map(({ boxIds }) => boxIds.join('+')),
  ]
    .map((part) => part.join('\n'))
    .join('\n\n')
  return { boxes, lines, operators, boxOf, key }
}

function operatorsOf(works: ReadonlyMap<string, WorkCard>, boxes: readonly Box[]): readonly Operator[] {
  const bySession = new Map<string, string[]>()
  for (const { group, id } of boxes) {
    const sessionId = group === undefined ? works.get(id)?.sessionId : undefined
    if (sessionId === undefined) continue
    const known = bySession.get(sessionId)
    if (known === undefined) bySession.set(sessionId, [id])
    else known.push(id)
  }
  return [...bySession].flatMap(([sessionId, boxIds]) => (boxIds.length > 1 ? [{ sessionId, boxIds }] : []))
}

function boxesOf(
  works: ReadonlyMap<string, WorkCard>,
  waves: ReadonlyMap<string, number>,
  options: PictureOptions,
): readonly Box[] {
  const byWave = new Map<number, WorkCard[]>()
  for (const work of works.values()) {
    const wave = waves.get(work.id) ?? 0
    const members = byWave.get(wave)
    if (members === undefined) byWave.set(wave, [work])
    else members.push(work)
  }
  const isLarge = works.size > GROUP_FROM
  const lastLive = Math.max(-1, ...[...byWave].filter(([, all]) => all.some(isLive)).map(([wave]) => wave))
  const rules = { ...options, isLarge, troubles: TROUBLES }
  return [...byWave]
    .sort(([a], [b]) => a - b)
    .flatMap(([wave, members]) => {
      const isOver = wave < lastLive && !members.some(isLive) && works.size > COLLAPSE_FROM
      return boxesOfWave(wave, members, rules, isOver)
    })
}

interface Rules extends PictureOptions {
  readonly isLarge: boolean
  /** What is left of the works that may stand alone. */
  troubles: number
}

function boxesOfWave(
  wave: number,
  members: readonly WorkCard[],
  rules: Rules,
  isOver: boolean,
): readonly Box[] {
  if (rules.grouping === 'never' && members.length <= OPENED) return members.map((work) => alone(work, wave))
  if (!rules.isLarge && !isOver) return members.map((work) => alone(work, wave))
  const boxes: Box[] = []
  const groups = new Map<string, WorkCard[]>()
  for (const work of members) {
    if (work.id === rules.selected || (isTrouble(work) && rules.troubles-- > 0)) boxes.push(alone(work, wave))
    else groups.set(work.target, [...(groups.get(work.target) ?? []), work])
  }
  for (const [target, all] of groups) {
    const id = groupId(wave, target)
    const shown = all.length === 1 ? 1 : rules.opened.has(id) ? OPENED : 0
    boxes.push(...all.slice(0, shown).map((work) => alone(work, wave)))
    const rest = all.slice(shown)
    if (rest.length > 0)
      boxes.push({
        id,
        wave,
        workIds: rest.map((work) => work.id),
        group: { target, isOver: rest.every((work) => isEnded(work.status)) },
      })
  }
  return boxes
}

function alone(work: WorkCard, wave: number): Box {
  return { id: work.id, wave, workIds: [work.id] }
}

function isLive(work: WorkCard): boolean {
  return !isEnded(work.status)
}

function isTrouble(work: WorkCard): boolean {
  return (work.status === 'failed' && work.replacedBy === undefined) || work.waits?.for === 'person'
}

function linesOf(works: ReadonlyMap<string, WorkCard>, boxOf: ReadonlyMap<string, string>): readonly Line[] {
  const lines = new Map<string, Line>()
  for (const work of works.values())
    for (const input of inputWorks(works, work.id)) {
      const from = boxOf.get(input)
      const to = boxOf.get(work.id)
      if (from === undefined || to === undefined || from === to) continue
      const key = `${from}>${to}`
      if (!lines.has(key)) lines.set(key, { from, to })
    }
  return [...lines.values()]
}
