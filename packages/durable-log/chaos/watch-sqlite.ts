/**
 * Makes `node:sqlite` tell the phases of a transaction, by the text of the statements that run. This
 * is the boundary between the log and the host's module, so the log that is killed is the one that
 * ships.
 */
import type { Phase, PhaseTeller } from './phases.ts'

type Statement = { readonly sourceSQL: string } & Record<'run' | 'iterate', (...args: unknown[]) => unknown>

/** `pause` is called at each point where a transaction of this kind can be held up. */
export function watchSqlite(teller: Pick<PhaseTeller, 'tell'>, pause: () => void): void {
  const { StatementSync } = process.getBuiltinModule('node:sqlite')
  const statement = StatementSync.prototype as unknown as Statement
  const { run, iterate } = statement
  let phase: Phase = 'commit'
  const tell = (told: Phase) => {
    phase = told
    teller.tell(told)
    pause()
  }
  statement.run = function (this: Statement, ...args: unknown[]): unknown {
    const sql = this.sourceSQL
    const isCommit = sql.startsWith('COMMIT')
    if (isCommit) tell(phase)
    const result = Reflect.apply(run, this, args)
    if (sql.startsWith('BEGIN')) tell('commit')
    else if (sql.startsWith('INSERT INTO snapshots')) tell('snapshot')
    else if (sql.startsWith('DELETE FROM')) tell('remove')
    else if (isCommit) {
      teller.tell('acknowledge')
      pause()
    }
    return result
  }
  statement.iterate = function (this: Statement, ...args: unknown[]): unknown {
    teller.tell('read')
    pause()
    return Reflect.apply(iterate, this, args)
  }
}
