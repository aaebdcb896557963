/** Waiting without sleeping. */

/** Waits for a condition, turn by turn of the event loop; fails loudly instead of hanging. */
export async function until(condition: () => boolean | Promise<boolean>, what?: string): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`did not come true: ${what ?? condition.toString()}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Lets everything run that is ready to run, so that a test can say that nothing more happened. */
export async function settleDown(): Promise<void> {
  for (let round = 0; round < 50; round += 1) await new Promise((resolve) => setImmediate(resolve))
}
