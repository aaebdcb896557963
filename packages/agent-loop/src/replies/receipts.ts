/**
 * What messaging tools delivered in a run, and whether a payload would say it a second time. Receipts
 * are of deliveries that succeeded, so that a failed one suppresses nothing; a repeated request does not
 * take back what went out, so they outlive every reset. Pure.
 */
import type { DeliveryReceipt, EventBlock } from '../streams/types.ts'
import type { ReplyPayload } from './types.ts'

/** A shorter text is the same only when it is equal: "Done." is part of many. */
const LEAST_CONTAINED = 10

export class Receipts {
  private readonly receipts: DeliveryReceipt[] = []
  private readonly target: string | undefined

  /** @param target whom the run's answer goes to. */
  constructor(target: string | undefined) {
    this.target = target
  }

  add(receipt: DeliveryReceipt): void {
    // What went to somebody else, or into another thread, is no answer to this person.
    if (receipt.target === undefined || receipt.target === this.target) this.receipts.push(receipt)
  }

  /** Whether the person got something. */
  get isEmpty(): boolean {
    return this.receipts.length === 0
  }

  /** The payload without what the person has; nothing when nothing is left. */
  strip(payload: ReplyPayload): ReplyPayload | undefined {
    if (payload.kind !== 'answer' || this.isEmpty) return payload
    const images = payload.images.filter((image) => !this.hasMedia(image))
    const text = this.hasText(payload) ? '' : payload.text
    return text === '' && images.length === 0 ? undefined : { ...payload, text, images }
  }

  private hasText({ text, message }: ReplyPayload): boolean {
    const said = plain(text)
    return this.receipts.some((receipt) => {
      if (receipt.isAnswer === true && message >= receipt.message) return true
      const sent = plain(receipt.text ?? '')
      if (said === '' || sent === '') return false
      // A short message does not stand for the long answer that quotes it.
      return said === sent || (said.length >= LEAST_CONTAINED && sent.includes(said))
    })
  }

  private hasMedia(image: EventBlock): boolean {
    const key = mediaKey(image)
    return this.receipts.some(({ media = [] }) => media.some((sent) => mediaName(sent) === key))
  }
}

/** The name of a medium, whatever way it is written. */
export function mediaKey(image: EventBlock): string {
  return image.type === 'image' ? mediaName(image.id) : ''
}

function mediaName(name: string): string {
  const path = name
    .trim()
    .replace(/^media:\s*/i, '')
    .replace(/^file:\/\//i, '')
    .replace(/\\/g, '/')
  try {
    return decodeURIComponent(path).replace(/\/(?:\.\/)+/g, '/')
  } catch {
    return path
  }
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/\p{Extended_Pictographic}|\u{FE0F}|\u{200D}/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
}
