/** What the reference says to an operation: an answer, or every code it may be refused with. */
export type Verdict =
  | { readonly refused: readonly string[] }
  | { readonly wrote: boolean; readonly answer: Readonly<Record<string, unknown>> }

export function done(answer: Readonly<Record<string, unknown>> = {}): Verdict {
  return { wrote: true, answer }
}

export function kept(answer: Readonly<Record<string, unknown>> = {}): Verdict {
  return { wrote: false, answer }
}

export function refused(...codes: readonly string[]): Verdict {
  return { refused: codes }
}

/** Collects every rule that an operation breaks. */
export class Rules {
  readonly broken: string[] = []

  keep(isKept: boolean, code: string): this {
    if (!isKept) this.broken.push(code)
    return this
  }

  /** The refusal, or what `act` says when no rule is broken. */
  allow(act: () => Verdict): Verdict {
    return this.broken.length > 0 ? { refused: this.broken } : act()
  }
}
