/** What a row can set about events, and the limits that follow from it. */
import z from '@deepseek-ai/schemastery'
import { MAX_DELAY_MS } from '../clock.ts'
import type { StreamLimits } from './event-streams.ts'

export interface EventsConfig {
  /** How long the events of a run stay in memory when it is over, milliseconds. */
  retentionMs: number
  /** How many characters of a run's newest events stay in memory. */
  memoryCharacters: number
  /** How many characters of text a tool's result may bring into the session. */
  maxResultCharacters: number
  /** The largest image that a tool's result may bring into the session, bytes. */
  maxImageBytes: number
  /** How many images a tool's result may bring into the session. */
  maxImages: number
}

const DEFAULTS: EventsConfig = {
  retentionMs: 300_000,
  memoryCharacters: 262_144,
  maxResultCharacters: 400_000,
  maxImageBytes: 5_000_000,
  maxImages: 20,
}

/** Segments a run may have in memory; they are a few hundred bytes each beside their text. */
const MAX_SEGMENTS = 2_048
/** A result on a stream is for looking at; the session has it in full. */
const EMITTED_CHARACTERS = 16_000

const natural = (fallback: number, max = Number.MAX_SAFE_INTEGER) =>
  z.number().step(1).min(0).max(max).default(fallback)

export const EventsConfig: z<Partial<EventsConfig>, EventsConfig> = z.object({
  retentionMs: natural(DEFAULTS.retentionMs, MAX_DELAY_MS),
  memoryCharacters: natural(DEFAULTS.memoryCharacters),
  maxResultCharacters: natural(DEFAULTS.maxResultCharacters),
  maxImageBytes: natural(DEFAULTS.maxImageBytes),
  maxImages: natural(DEFAULTS.maxImages),
})

export function streamLimits(config: Partial<EventsConfig> = {}): StreamLimits {
  const set = { ...DEFAULTS, ...config }
  const { maxImageBytes, maxImages } = set
  return {
    retentionMs: set.retentionMs,
    ring: { maxCharacters: set.memoryCharacters, maxSegments: MAX_SEGMENTS },
    logged: { maxTextCharacters: set.maxResultCharacters, maxImageBytes, maxImages },
    emitted: { maxTextCharacters: EMITTED_CHARACTERS, maxImageBytes, maxImages },
  }
}
