/**
 * Takes the thinking that a model wrote into its text, `<think>…</think>`, out of it, piece by piece.
 * Tags in code are text. A tag that is never closed hides what follows it. Pure.
 */

const TAG = /^<(\/?)(?:think|thinking|thought)>/i
const TAGS = ['<think>', '</think>', '<thinking>', '</thinking>', '<thought>', '</thought>']

export interface Parted {
  readonly text: string
  readonly thinking: string
}

export class ThinkingTags {
  private isThinking = false
  /** The length of the run of backticks that opened the code we are in; 0 outside of code. */
  private code = 0
  /** What may become a tag, or a longer run of backticks. */
  private held = ''

  push(piece: string): Parted {
    return this.part(this.held + piece, false)
  }

  /** What was held back; the text is complete. */
  end(): Parted {
    return this.part(this.held, true)
  }

  private part(input: string, isComplete: boolean): Parted {
    const out = { text: '', thinking: '' }
    let index = 0
    this.held = ''
    while (index < input.length) {
      const rest = input.slice(index)
      const step = this.step(rest)
      if (step === undefined && !isComplete) {
        this.held = rest
        break
      }
      const { length, isTag } = step ?? { length: rest.length, isTag: false }
      if (!isTag) out[this.isThinking ? 'thinking' : 'text'] += rest.slice(0, length)
      index += length
    }
    return out
  }

  /** How far the next step goes; nothing while it depends on what is still to come. */
  private step(rest: string): { length: number; isTag: boolean } | undefined {
    if (rest.startsWith('<') && this.code === 0) return this.tag(rest)
    if (rest.startsWith('`') && !this.isThinking) return this.backticks(rest)
    if (this.code < 3 && rest.startsWith('\n\n')) this.code = 0
    const plain = rest.slice(1).search(/[<`\n]/)
    return { length: plain < 0 ? rest.length : plain + 1, isTag: false }
  }

  private tag(rest: string): { length: number; isTag: boolean } | undefined {
    const [tag, closing] = TAG.exec(rest) ?? []
    if (tag === undefined) {
      const isPrefix = TAGS.some((name) => name.startsWith(rest.toLowerCase()))
      return isPrefix ? undefined : { length: 1, isTag: false }
    }
    // A closing tag without an opening one is dropped, too: its beginning went another way.
    this.isThinking = closing === ''
    return { length: tag.length, isTag: true }
  }

  private backticks(rest: string): { length: number; isTag: boolean } | undefined {
    const [run = ''] = /^`+/.exec(rest) ?? []
    if (run.length === rest.length) return undefined
    const closes = this.code >= 3 ? run.length >= this.code : run.length === this.code
    if (closes) this.code = 0
    else if (this.code === 0) this.code = run.length
    return { length: run.length, isTag: false }
  }
}
