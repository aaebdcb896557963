/** The page's words in the language that DSH shows, and how it writes times and sizes. */
import type { WorkCard } from '../src/feed/wire.ts'
import { EN, type Word } from './words-en.ts'
import { ZH } from './words-zh.ts'

export type Values = Readonly<Record<string, string | number>>

export interface Words {
  readonly language: 'en' | 'zh'
  say(word: Word, values?: Values): string
  clock(at: number): string
  duration(ms: number): string
  count(value: number): string
}

function wordsOf(language: 'en' | 'zh'): Words {
  const dictionary: Readonly<Record<Word, string>> = language === 'zh' ? ZH : EN
  const times = new Intl.DateTimeFormat(language, { timeStyle: 'medium' })
  const days = new Intl.DateTimeFormat(language, { dateStyle: 'short', timeStyle: 'short' })
  const counts = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 })
  return {
    language,
    say: (word, values = {}) =>
      dictionary[word].replaceAll(/\{(\w+)\}/gu, (place, name: string) => String(values[name] ?? place)),
    clock: (at) => (isToday(at) ? times : days).format(at),
    duration: durationText,
    count: (value) => (value < 10_000 ? String(value) : counts.format(value)),
  }
}

const WORDS = { en: wordsOf('en'), zh: wordsOf('zh') }

/** @param locale as DSH names it; every language but Chinese reads English. */
export function wordsFor(locale: string): Words {
  return /^zh\b/iu.test(locale) ? WORDS.zh : WORDS.en
}

function isToday(at: number): boolean {
  return new Date(at).toDateString() === new Date().toDateString()
}

function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (ms < 10_000) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** The status in one word; a held work is one that needs the person. */
export function statusText({ say }: Words, work: Pick<WorkCard, 'status' | 'waits'>): string {
  return work.waits?.for === 'person' ? say('status.held') : say(`status.${work.status}`)
}

/** What a work waits for, or that its session is at work; `undefined` for one that is over. */
export function waitText(words: Words, work: WorkCard, titleOf: (id: string) => string): string | undefined {
  const { waits, status } = work
  const { say } = words
  switch (waits?.for) {
    case 'draft':
    case 'slot':
    case 'start':
      return say(`waits.${waits.for}`)
    case 'lane':
      return say('waits.lane', { lane: waits.lane, width: waits.width, depth: waits.depth })
    case 'works': {
      const works = waits.ids.map(titleOf).join(', ')
      return waits.more === 0
        ? say('waits.works', { works })
        : say('waits.worksMore', { works, more: waits.more })
    }
    case 'operator':
      return say('waits.operator', { work: titleOf(waits.workId) })
    case 'person':
    case 'model':
      return say(`waits.${waits.for}`, { reason: waits.reason })
    case 'time':
      return say('waits.time', { time: words.clock(waits.at) })
    case undefined:
      return status === 'running' ? say('runs.model') : undefined
  }
}
