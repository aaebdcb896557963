/**
 * Keeps a graph that runs inside another graph's node apart from it. LangChain hands the outer run's
 * config down through an async-local store: thread, checkpointer, limits, secret `configurable` keys.
 * The store has a registered symbol, so it is reached without importing LangChain; where a version
 * does not have it, nothing is isolated. Other async-local values, DSH's among them, are kept.
 */
const STORE = Symbol.for('ls:tracing_async_local_storage')

interface AsyncLocalStore {
  run<T>(value: undefined, call: () => T): T
}

function isStore(value: unknown): value is AsyncLocalStore {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'run') === 'function'
}

/** Runs `call` as if no graph were running around it. */
export function runIsolated<T>(call: () => T): T {
  const store: unknown = Reflect.get(globalThis, STORE)
  return isStore(store) ? store.run(undefined, call) : call()
}
