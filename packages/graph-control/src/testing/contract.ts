/** The conformance suite of the graph store. */
export function graphControlStoreContract(): never {
  throw new Error('not built yet')
}
