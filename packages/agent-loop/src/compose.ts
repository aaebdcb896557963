/**
 * Turns a run's request into the message that DSH takes: images go through DSH's attachment service,
 * which checks and stores them. A profile without one takes no attachments.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { ContentBlock } from '@deepseek-ai/dsh-llm'
import type { UserMessage } from '@deepseek-ai/dsh-session'
import { AgentLoopError } from './errors.ts'
import { runMessage } from './run-message.ts'
import type { StartedRun } from './runner.ts'

type ImageBlock = Extract<ContentBlock, { type: 'image' }>

/** What is used of DSH's attachment service, absent in some profiles. */
interface Attachments {
  saveImages(
    images: readonly { data: Uint8Array; mediaType: string; name?: string }[],
  ): Promise<readonly ImageBlock['attachment'][]>
}

/** @throws when an attachment cannot be stored, or nothing stores attachments. */
export async function composeMessage(
  ctx: Context,
  { run, members }: StartedRun,
): Promise<UserMessage | undefined> {
  const asked = [run, ...members].flatMap(({ request }) => request?.attachments ?? [])
  if (asked.length === 0) return runMessage({ run, members, images: [] })
  const attachments = ctx.get('attachments') as Attachments | undefined
  if (attachments === undefined) {
    throw new AgentLoopError(
      'invalid',
      'nothing in this profile stores attachments; load dsh-attachment-local',
    )
  }
  const refs = await attachments.saveImages(
    asked.map(({ data, mediaType, name }) => ({
      data: Buffer.from(data, 'base64'),
      mediaType,
      ...(name === undefined ? {} : { name }),
    })),
  )
  return runMessage({ run, members, images: refs.map((attachment) => ({ type: 'image', attachment })) })
}
