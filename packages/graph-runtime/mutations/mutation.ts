/** The shape of a mutation list. */

/** One small fault in the code, and the tests that must notice it. */
export interface Mutation {
  /** Requirement, as it stands at the end of the titles of the tests that must fail: `R106` for `(R106)`. */
  readonly requirement: string
  /** File below `src`. */
  readonly file: string
  /** Text on one line that occurs once in the file. */
  readonly search: string
  readonly replace: string
  /** Spec below `tests`. */
  readonly spec: string
}
