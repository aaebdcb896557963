/** The shape of a mutation list. */

/** One small fault in the code, and the tests that must notice it. */
export interface Mutation {
  /** Part of the titles of the tests that must fail. */
  readonly title: string
  /** File below `src`. */
  readonly file: string
  /** Text that occurs once in the file. */
  readonly search: string
  readonly replace: string
  /** Spec below `tests`. */
  readonly spec: string
}
