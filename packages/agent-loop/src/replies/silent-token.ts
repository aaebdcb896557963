/**
 * The word of a model that has nothing to say. A text that is the word and nothing else is silence; as
 * the first or the last word of a longer text it is taken off. While a text grows, whatever may still
 * become the word is held back whole, from its first letter. Pure.
 */

export const SILENT_TOKEN = 'NO_REPLY'

export class SilentGate {
  private readonly token: string
  /** What is held back. */
  private held = ''
  /** Whether some of the text was let through, or will be for certain. */
  private isOpen = false
  /** Whether a word begins where the held text does. */
  private isWordStart = true

  constructor(token: string = SILENT_TOKEN) {
    this.token = token
  }

  /** @returns what may be told now. */
  push(piece: string): string {
    this.held += piece
    if (!this.isOpen) {
      if (this.mayBeSilence()) return ''
      this.isOpen = true
      this.held = this.withoutFirst(this.held)
    }
    return this.release(this.held.length - this.endOfHope())
  }

  /** The rest; the text is complete. */
  end(): string {
    if (!this.isOpen && isSilence(this.held, this.token)) this.held = ''
    else if (this.held.trim() === this.token && this.isWholeWord()) this.held = ''
    this.isOpen = true
    return this.release(this.held.length)
  }

  private release(length: number): string {
    const told = this.held.slice(0, length)
    this.held = this.held.slice(length)
    if (told !== '') this.isWordStart = /\s$/.test(told)
    return told
  }

  private mayBeSilence(): boolean {
    const word = this.held.trimStart()
    const whole = this.token.toLowerCase()
    const isBeginning = whole.startsWith(word.toLowerCase())
    return isBeginning || (word.toLowerCase().startsWith(whole) && word.slice(whole.length).trim() === '')
  }

  private withoutFirst(text: string): string {
    const word = text.trimStart()
    const follows = word.slice(this.token.length)
    return word.startsWith(this.token) && /^\s/.test(follows) ? follows.trimStart() : text
  }

  /** Whether what is held begins with a word of its own. */
  private isWholeWord(): boolean {
    return this.isWordStart || /^\s/.test(this.held)
  }

  /** How many characters at the end may become the word as the last one of the text. */
  private endOfHope(): number {
    const [tail = '', word = '', space = ''] = /(?:^|\s+)(\S+)(\s*)$/.exec(this.held) ?? []
    const mayBe = word === this.token || (space === '' && this.token.startsWith(word))
    const isWord = tail.length < this.held.length || this.isWholeWord()
    if (word !== '' && mayBe && isWord) return tail.length
    // The word may follow, and would take the space before it along.
    return /\s*$/.exec(this.held)?.[0].length ?? 0
  }
}

/** Whether the text is the word and nothing else, in whatever case. */
export function isSilence(text: string, token: string = SILENT_TOKEN): boolean {
  return text.trim().toLowerCase() === token.toLowerCase()
}

/** The text as a person gets to see it; empty for silence. */
export function withoutToken(text: string, token: string = SILENT_TOKEN): string {
  const gate = new SilentGate(token)
  return gate.push(text) + gate.end()
}
