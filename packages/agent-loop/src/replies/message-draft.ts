/**
 * One message of the assistant on its way to a person: the deltas go in, out comes what may be told, with
 * thinking and the silent word taken off, and the chunks that are ready to be sent. The ends of texts
 * are the truth about the text; a draft that told something else is *spoiled*, and the final says the
 * message again. Pure.
 */
import { Chunker, type Chunk } from './chunker.ts'
import { SilentGate, withoutToken } from './silent-token.ts'
import { ThinkingTags } from './thinking-tags.ts'
import type { ChunkLimits } from './types.ts'

export interface DraftOptions {
  readonly silentToken: string
  /** Absent: no chunks. */
  readonly chunk: Partial<ChunkLimits> | undefined
}

export class MessageDraft {
  readonly message: number
  /** What may be told of the text so far. */
  visible = ''
  /** Thinking that was written into the text. */
  thinking = ''
  /** Whether something was told that the message turned out not to say. */
  isSpoiled = false
  private readonly options: DraftOptions
  private tags = new ThinkingTags()
  private gate: SilentGate
  /** Whether what tags and gate held back was let go. */
  private isSettled = false
  private readonly chunker: Chunker
  /** The text as the model wrote it, as far as it is known without holes. */
  private raw = ''
  private blockStart = 0
  private block: number | undefined
  private hasHole = false

  constructor(message: number, options: DraftOptions) {
    this.message = message
    this.options = options
    this.gate = new SilentGate(options.silentToken)
    this.chunker = new Chunker(options.chunk)
  }

  delta(block: number, delta: string): readonly Chunk[] {
    if (this.hasHole) return []
    this.enter(block)
    return this.take(delta)
  }

  /** Deltas are gone: what follows waits for an end that says the whole. */
  gap(): void {
    this.hasHole = true
  }

  /** The whole text of a block. @returns the chunks up to here, all of them. */
  textEnd(block: number, text: string): readonly Chunk[] {
    if (this.block !== undefined && block < this.block) return []
    this.enter(block)
    const chunks = this.catchUp(this.raw.slice(this.blockStart), text)
    return [...chunks, ...this.settle()]
  }

  /** The whole text of the message; nothing comes after it. */
  end(text: string): readonly Chunk[] {
    const chunks = this.catchUp(this.raw, text)
    return [...chunks, ...this.settle()]
  }

  /** The message ends without an end: what is held back is let go. */
  abandon(): readonly Chunk[] {
    return this.settle()
  }

  private enter(block: number): void {
    if (block === this.block) return
    this.block = block
    this.blockStart = this.raw.length
  }

  /** Takes what the deltas did not bring. A text that goes another way spoils the draft. */
  private catchUp(known: string, whole: string): readonly Chunk[] {
    this.hasHole = false
    if (whole.startsWith(known)) return this.take(whole.slice(known.length))
    this.isSpoiled = true
    return []
  }

  /** The text is complete up to here. */
  private settle(): readonly Chunk[] {
    if (this.isSettled) return []
    this.isSettled = true
    const { text, thinking } = this.tags.end()
    this.thinking += thinking
    const chunks = this.show(this.gate.push(text) + this.gate.end())
    return [...chunks, ...this.chunks(() => this.chunker.flush())]
  }

  private take(piece: string): readonly Chunk[] {
    if (piece === '') return []
    if (this.isSettled) {
      this.isSettled = false
      this.tags = new ThinkingTags()
      this.gate = new SilentGate(this.options.silentToken)
    }
    this.raw += piece
    const { text, thinking } = this.tags.push(piece)
    this.thinking += thinking
    return this.show(this.gate.push(text))
  }

  private show(text: string): readonly Chunk[] {
    this.visible += text
    return text === '' ? [] : this.chunks(() => this.chunker.push(text))
  }

  private chunks(cut: () => readonly Chunk[]): readonly Chunk[] {
    return this.options.chunk === undefined ? [] : cut()
  }
}

/** What a person gets to see of a complete text, and the thinking that was in it. */
export function readText(text: string, silentToken: string): { text: string; thinking: string } {
  const tags = new ThinkingTags()
  const first = tags.push(text)
  const rest = tags.end()
  return {
    text: withoutToken(first.text + rest.text, silentToken).trim(),
    thinking: (first.thinking + rest.thinking).trim(),
  }
}
