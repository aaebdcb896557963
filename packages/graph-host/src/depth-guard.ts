/**
 * How deep sessions are delegated under a root. Operators are made by this host; what they delegate is
 * made by DSH, which asks everybody who hears of a new agent.
 */
import type { Context } from '@deepseek-ai/cordis'
import { GraphHostError } from './errors.ts'

export interface DepthGuardDeps {
  readonly ctx: Context
  readonly maxDepth: number
  readonly isOperator: (sessionId: string) => boolean
}

export function guardDepth({ ctx, maxDepth, isOperator }: DepthGuardDeps): void {
  /** Live sessions that operators delegated to, at any depth. */
  const delegated = new Set<string>()
  ctx.on('agent/created', ({ agent }) => {
    const { delegationDepth = 0, parentSession } = agent.session.header
    const isBelow =
      isOperator(agent.id) ||
      (parentSession !== undefined && (isOperator(parentSession) || delegated.has(parentSession)))
    if (!isBelow) return
    if (delegationDepth > maxDepth)
      throw new GraphHostError(
        'depth-limit',
        `session ${agent.id} is refused: it would be delegated ${delegationDepth} deep under its root, at most ${maxDepth} are allowed`,
      )
    delegated.add(agent.id)
  })
  ctx.on('agent/disposed', ({ agent }) => void delegated.delete(agent.id))
}
