/** What users of the port run against their own store: the conformance suite. */
export { graphControlStoreContract } from './contract.ts'
