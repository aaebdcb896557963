/** What the writer and the inspection agree on: how a transition is named, and what texts say. */
import type { StoredEntry } from 'dsh-durable-log'

export const ROOTS = ['root-a', 'root-b', 'root-c'] as const

/** The name of the transition that an entry is, by the ids that its caller chose or was told. */
export function nameOf({ type, data }: StoredEntry): string {
  const held = data as Record<string, Record<string, string> & string>
  switch (type) {
    case 'update':
      return `update:${held['update']?.['updateId']}`
    case 'provision':
      return `provision:${held['provision']?.['provisionId']}`
    case 'bind':
      return `bind:${held['binding']?.['provisionId']}`
    case 'claim':
      return `claim:${held['claim']?.['claimId']}`
    case 'begin':
    case 'settle':
    case 'hold':
    case 'cancel':
      return `${type}:${held['claimId']}`
    case 'retry':
      return `retry:${held['claimId']}:${held['attempt']}`
    case 'wake':
    case 'wake-settled':
      return `${type}:${held['wakeId']}`
    case 'wake-attempt':
      return `wake-attempt:${held['attemptId']}`
    default:
      return `${type}:${held['waitId'] ?? held['changeSeq'] ?? ''}`
  }
}

/** What a claim's activation concludes with: short ones, and some of several chunks. */
export function textOf(claimId: string): string {
  const seed = Number.parseInt(claimId.slice(-4), 16)
  return `${claimId} says: ${'finding. '.repeat(seed % 5 === 0 ? 20_000 : seed % 300)}`
}
