/**
 * Puts the limits of `tool-content.ts` around every tool result before DSH writes it into the session,
 * at DSH's own extension point. Outermost, so that it sees what other plugins made of the result.
 *
 * A tool's own `finalizeContent` comes after this point and has the last word on the log; what goes onto
 * a stream is held to the limits again there.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { PostToolDecision } from '@deepseek-ai/dsh-tools'
import { sanitizeBlocks, type ContentLimits } from './tool-content.ts'

/** @param ctx owns the listeners; a plain plugin context hears every agent's tools. */
export function sanitizeToolResults(ctx: Context, limits: ContentLimits): void {
  const clean = (blocks: readonly ContentBlock[]): ContentBlock[] => [...sanitizeBlocks(blocks, limits)]
  const isClean = (blocks: readonly ContentBlock[]): boolean => sanitizeBlocks(blocks, limits) === blocks
  ctx.on(
    'tools/post-execute',
    async (exec, result, next): Promise<PostToolDecision> => {
      const decision = await next()
      // A program gets the value of its calls; what of them is logged comes by the other event.
      if (exec.parent !== undefined) return decision
      if (decision.kind === 'block') {
        return isClean(decision.feedback) ? decision : { ...decision, feedback: clean(decision.feedback) }
      }
      // A replaced value is rendered by its tool afterwards.
      if (decision.value !== undefined) return decision
      const content = decision.content ?? result.content
      return isClean(content) ? decision : { ...decision, content: clean(content) }
    },
    { prepend: true },
  )
  ctx.on(
    'tools/code-dispatch-log',
    async (_dispatch, next) => {
      const content = await next()
      return isClean(content) ? content : clean(content)
    },
    { prepend: true },
  )
}
