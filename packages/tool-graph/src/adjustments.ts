/**
 * What was changed about a call before it was understood, in words for the answer. Bounded, however
 * much was wrong: a model learns from the first lines, and nobody reads the hundredth.
 */
import { brief } from './data-text.ts'

const LINES = 8
const LINE_CHARS = 160
/** Places that one summing-up line names. */
const PLACES = 6

export class Adjustments {
  private readonly lines: string[] = []
  private readonly empties: string[] = []
  private readonly trims: string[] = []

  /** One correction; places are named as in `addWork[2].operatorId`. */
  note(line: string): void {
    this.lines.push(line)
  }

  /** A field that was filled without a meaning: null, "", [], {}. */
  empty(place: string): void {
    this.empties.push(place)
  }

  trimmed(place: string): void {
    this.trims.push(place)
  }

  /** For the answer; empty when the call was meant as it came. */
  list(): readonly string[] {
    const more = this.lines.length - LINES
    return [
      ...this.lines.slice(0, LINES),
      ...(more > 0 ? [`${more} more corrections`] : []),
      ...summed('left out as empty', this.empties),
      ...summed('spaces trimmed', this.trims),
    ].map((line) => brief(line, LINE_CHARS))
  }
}

function summed(what: string, places: readonly string[]): readonly string[] {
  if (places.length === 0) return []
  const more = places.length - PLACES
  return [`${what}: ${places.slice(0, PLACES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`]
}

/** A name that a model made up, fit for a line of text. */
export function shownName(name: string): string {
  return brief(name, 64)
}
