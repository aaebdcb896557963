/** The shape of a mutation list. */

/** One small fault in the code, and the tests that must notice it. */
export interface Mutation {
  /** Requirement, as it stands at the end of the titles of the tests that must fail: `R106` for `(R106)`, or a reported fault: `4.7 row 52`. */
  readonly requirement: string
  /** File below `src`; `../package.json` is one of the package itself. */
  readonly file: string
  /** Text that occurs once in the file: a line, or as much around it as tells it from others. */
  readonly search: string
  readonly replace: string
  /** Spec below `tests`. */
  readonly spec: string
}
