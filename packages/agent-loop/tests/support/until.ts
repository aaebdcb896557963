/** Waits for a condition, turn by turn of the event loop; fails loudly instead of hanging. */
export async function until(condition: () => boolean, what = 'the condition'): Promise<void> {
  const limit = performance.now() + 10_000
  while (!condition()) {
    if (performance.now() > limit) throw new Error(`${what} did not come true`)
    await new Promise((done) => setImmediate(done))
  }
}

/** Lets everything run that is ready to run, so that a test can say that nothing more happened. */
export async function settleDown(): Promise<void> {
  for (let round = 0; round < 50; round += 1) await new Promise((done) => setImmediate(done))
}
