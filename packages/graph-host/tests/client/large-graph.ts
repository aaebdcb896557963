/** Cards of a graph as large as the page has to bear. */
import type { GraphHead, WorkCard } from '../../src/feed/wire.ts'

export function card(id: string, more: Partial<WorkCard> = {}): WorkCard {
  return {
    id,
    ordinal: 1,
    title: `Title of ${id}`,
    status: 'waiting',
    target: 'agent:default',
    inputIds: [],
    addedAt: 1_000,
    records: 0,
    ...more,
  }
}

export function head(more: Partial<GraphHead> = {}): GraphHead {
  return {
    graphId: 'g',
    epoch: 1,
    epochs: [{ epoch: 1, graphId: 'g', createdAt: 1 }],
    seq: 1,
    revision: 1,
    phase: 'open',
    works: 0,
    pending: 0,
    inputTokens: 0,
    outputTokens: 0,
    ...more,
  }
}

/** `waves` waves of `wide` works, each after two of the wave before; two kinds of operator. */
export function layered(waves: number, wide: number): readonly WorkCard[] {
  const cards: WorkCard[] = []
  for (let wave = 0; wave < waves; wave++)
    for (let row = 0; row < wide; row++)
      cards.push(
        card(`w${wave}-${row}`, {
          ordinal: cards.length + 1,
          target: row % 2 === 0 ? 'agent:default' : 'agent:reviewer',
          inputIds: wave === 0 ? [] : [`w${wave - 1}-${row}`, `w${wave - 1}-${(row + 1) % wide}`],
        }),
      )
  return cards
}

export function mapOf(cards: readonly WorkCard[]): ReadonlyMap<string, WorkCard> {
  return new Map(cards.map((one) => [one.id, one]))
}
