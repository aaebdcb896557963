/** The registered messaging tools, and what their calls delivered. */
import { z } from 'zod'
import { AgentLoopError } from '../errors.ts'
import type { FinishedCall } from '../streams/turn-translator.ts'
import type { DeliveryReceipt } from '../streams/types.ts'
import type { MessagingTool } from './types.ts'

const MAX_TEXT = 100_000

const toolSchema = z.object({ name: z.string().min(1).max(256), receipt: z.function() })

/** Plugins read it out of what a model wrote. */
const receiptSchema = z.strictObject({
  target: z.string().max(1_000).optional(),
  text: z.string().max(MAX_TEXT).optional(),
  media: z.array(z.string().max(4_000)).max(100).optional(),
  isAnswer: z.boolean().optional(),
})

export class MessagingTools {
  private readonly tools = new Map<string, MessagingTool>()

  /** @throws AgentLoopError `invalid` or `conflict`. @returns the undo; idempotent. */
  register(tool: MessagingTool): () => void {
    if (!toolSchema.safeParse(tool).success) {
      throw new AgentLoopError('invalid', 'a messaging tool is { name, receipt(call) }')
    }
    const { name } = tool
    if (this.tools.has(name)) {
      throw new AgentLoopError(
        'conflict',
        `${JSON.stringify(name)} is registered as a messaging tool already`,
      )
    }
    this.tools.set(name, tool)
    return () => {
      if (this.tools.get(name) === tool) this.tools.delete(name)
    }
  }

  /** What the call delivered; nothing for any other tool, and for a receipt that is none. */
  receiptOf(call: FinishedCall, warn: (text: string) => void): Omit<DeliveryReceipt, 'message'> | undefined {
    const tool = this.tools.get(call.name)
    if (tool === undefined) return undefined
    try {
      const receipt: unknown = tool.receipt(call)
      if (receipt instanceof Promise) {
        // Nobody waits for it; its failure must not end the process.
        receipt.catch(() => undefined)
        throw new TypeError('it answered with a promise, which comes too late')
      }
      return receipt === undefined ? undefined : wellFormed(receiptSchema.parse(receipt))
    } catch (error) {
      warn(`messaging tool ${JSON.stringify(call.name)} gave no receipt: ${String(error)}`)
      return undefined
    }
  }
}

function wellFormed({ target, text, media, isAnswer }: z.infer<typeof receiptSchema>) {
  return {
    ...(target === undefined ? {} : { target: target.toWellFormed() }),
    ...(text === undefined ? {} : { text: text.toWellFormed() }),
    ...(media === undefined ? {} : { media: media.map((key) => key.toWellFormed()) }),
    ...(isAnswer === undefined ? {} : { isAnswer }),
  }
}
