/** One promise of the port, as a check that any store can be held to. */
import assert from 'node:assert/strict'
import type { GraphControlErrorCode } from '../errors.ts'
import type { GraphControl } from '../port.ts'

export interface Clause {
  /** Names the promise, and stays what it is. */
  readonly name: string
  /**
   * Rejects with an AssertionError that says what was broken. Talks to the store through its own
   * operations only, so that the suite can reopen it or let its medium fail between any two.
   *
   * @param store fresh and empty.
   */
  readonly check: (store: GraphControl) => Promise<void>
}

export function clause(name: string, check: Clause['check']): Clause {
  return { name, check }
}

/** Fails unless the operation is refused with this code. */
export async function refused(
  what: string,
  operation: Promise<unknown>,
  ...codes: readonly GraphControlErrorCode[]
): Promise<void> {
  const [outcome] = await Promise.allSettled([operation])
  assert.equal(outcome.status, 'rejected', `${what} was not refused`)
  const reason: unknown = outcome.status === 'rejected' ? outcome.reason : undefined
  const code = typeof reason === 'object' && reason !== null && 'code' in reason ? reason.code : undefined
  assert.ok(
    codes.includes(code as GraphControlErrorCode),
    `${what} was refused as ${String(code)}: ${String(reason)}`,
  )
}
