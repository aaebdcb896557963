/**
 * What a tool's result may carry into a log and onto a stream: text of bounded length, images of bounded
 * size and number, and no image as base64 in the middle of a text. Pure.
 */
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { JsonValue } from 'dsh-durable-log'
import type { EventBlock } from './types.ts'

export interface ContentLimits {
  /** Characters of all texts of a result together; what is over is cut out of the middle. */
  readonly maxTextCharacters: number
  readonly maxImageBytes: number
  readonly maxImages: number
}

/** An image written as text; shorter ones, such as an icon in a style sheet, do no harm. */
const INLINE_IMAGE = /data:(image\/[a-z0-9.+-]{1,40});base64,([a-z0-9+/=_-]{1024,})/gi

/** How much of a cut text its end gets. */
const TAIL_SHARE = 0.25

/** @returns the same array when there is nothing to change. */
export function sanitizeBlocks(
  blocks: readonly ContentBlock[],
  limits: ContentLimits,
): readonly ContentBlock[] {
  let isChanged = false
  let room = limits.maxTextCharacters
  let images = 0
  const kept = blocks.map((block) => {
    const safe = block.type === 'image' ? sanitizeImage(block, images, limits) : sanitizeText(block, room)
    if (block.type === 'image' && safe === block) images += 1
    if (safe.type === 'text') room = Math.max(0, room - safe.text.length)
    if (safe !== block) isChanged = true
    return safe
  })
  return isChanged ? kept : blocks
}

/** The same result as it goes onto a stream: an image by its reference. */
export function eventBlocks(blocks: readonly ContentBlock[], limits: ContentLimits): readonly EventBlock[] {
  return sanitizeBlocks(blocks, limits).map((block): EventBlock => {
    if (block.type === 'text') return { type: 'text', text: block.text.toWellFormed() }
    if (block.type !== 'image') return { type: 'other', kind: String(block.type).slice(0, 64) }
    const { attachmentId, mediaType, bytes } = block.attachment
    return { type: 'image', id: String(attachmentId).slice(0, 512), mediaType, bytes }
  })
}

/** Cuts the middle out of a text that is longer than `room`, and says so. Never half a surrogate pair. */
export function cutText(text: string, room: number): string {
  if (text.length <= room) return text
  const notice = (left: number): string => `\n[cut: ${left} more characters]\n`
  const space = Math.max(0, room - notice(text.length).length)
  const tail = Math.floor(space * TAIL_SHARE)
  const start = wholeEnd(text, space - tail)
  const end = wholeStart(text, text.length - tail)
  return text.slice(0, start) + notice(end - start) + text.slice(end)
}

/** JSON of bounded length; a value that is longer becomes its beginning, as text. */
export function boundedJson(value: JsonValue, maxCharacters: number): JsonValue {
  const text = JSON.stringify(value)
  // Half a surrogate pair is written as an escape; as text it is harmless.
  const isWhole = text.length <= maxCharacters && !/\\ud[89a-f]/i.test(text)
  // The copy holds no negative zero, which a log refuses.
  return isWhole ? (JSON.parse(text) as JsonValue) : cutText(text, maxCharacters)
}

/** A position that splits no pair: `index` or the one before it. */
export function wholeEnd(text: string, index: number): number {
  return isInsidePair(text, index) ? index - 1 : index
}

function wholeStart(text: string, index: number): number {
  return isInsidePair(text, index) ? index + 1 : index
}

function isInsidePair(text: string, index: number): boolean {
  if (index <= 0 || index >= text.length) return false
  const [before, after] = [text.charCodeAt(index - 1), text.charCodeAt(index)]
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff
}

function sanitizeText(block: ContentBlock, room: number): ContentBlock {
  if (block.type !== 'text') return block
  const text = cutText(
    block.text.replace(INLINE_IMAGE, (_all, mediaType: string, data: string) =>
      removed(mediaType, Math.floor((data.length * 3) / 4), 'it was written into the text'),
    ),
    room,
  )
  return text === block.text ? block : { type: 'text', text }
}

function sanitizeImage(
  block: Extract<ContentBlock, { type: 'image' }>,
  before: number,
  { maxImageBytes, maxImages }: ContentLimits,
): ContentBlock {
  const { mediaType, bytes } = block.attachment
  if (bytes > maxImageBytes) {
    return { type: 'text', text: removed(mediaType, bytes, `over ${maxImageBytes} bytes`) }
  }
  if (before < maxImages) return block
  return { type: 'text', text: removed(mediaType, bytes, `over ${maxImages} images in one result`) }
}

function removed(mediaType: string, bytes: number, why: string): string {
  return `[image left out: ${mediaType}, ${bytes} bytes, ${why}]`
}
