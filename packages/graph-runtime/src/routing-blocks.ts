/**
 * What a model said, in the one form that every provider takes back: no blank text, calls whose names
 * and arguments are legal, ids that are unique in the whole conversation.
 */
import { CallId, type ContentBlock, type ToolCallBlock } from '@deepseek-ai/dsh-llm'
import { isArgumentObject } from './routing-arguments.ts'

export class LegalBlocks {
  /** Every call id of the conversation so far. */
  private readonly callIds = new Set<string>()

  /**
   * The same blocks, illegal ones made legal or left out.
   *
   * @returns the list itself when nothing had to change; calls keep their order and their number.
   */
  of(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
    const legal = blocks.flatMap((block) => (block.type === 'tool-call' ? this.call(block) : spoken(block)))
    const same = legal.length === blocks.length && legal.every((block, at) => block === blocks[at])
    return same ? blocks : legal
  }

  private call(call: ToolCallBlock): ToolCallBlock {
    const id = this.freshId(call.id)
    const name = legalName(call.name)
    const text = legalArguments(call.arguments)
    if (id === call.id && name === call.name && text === call.arguments) return call
    return { type: 'tool-call', id, name, arguments: text }
  }

  /** The given id, or one made from it when that is empty or was there before. */
  private freshId(id: CallId): CallId {
    const given = String(id)
    let fresh = given
    for (let n = 1; fresh === '' || this.callIds.has(fresh); n++) fresh = `${given || 'call'}_${n}`
    this.callIds.add(fresh)
    return fresh === given ? id : CallId(fresh)
  }
}

function spoken(block: ContentBlock): ContentBlock[] {
  return block.type === 'text' && block.text.trim() === '' ? [] : [block]
}

/** A name that a provider takes back; the model is told the one it gave in the reason. */
function legalName(name: string): string {
  const legal = name
    .slice(0, 256)
    .replace(/[^A-Za-z0-9_-]+/g, '_')
    .slice(0, 64)
  return legal === '' ? 'unnamed_tool' : legal
}

/** The argument text when it is a JSON object. Some providers refuse anything else, so that is quoted in the reason only. */
function legalArguments(text: string): string {
  try {
    return isArgumentObject(JSON.parse(text)) ? text : '{}'
  } catch {
    return '{}'
  }
}
