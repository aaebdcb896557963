/**
 * What a person sets in DSH's settings for the queues of this host, over what its row configures: how
 * messages join a busy session that has no settings of its own. It holds from the next message on.
 */
import type { Context } from '@deepseek-ai/cordis'
import z from '@deepseek-ai/schemastery'
import { personSettings } from '@dsh-graph/plugin-mount'
import { Config } from './config.ts'
import type { QueueSettings } from './queue-types.ts'

/** Also the key of the card in the page. */
export const QUEUE_NAMESPACE = 'dsh-agent-loop-host'

const fields = (Config.dict as Readonly<Record<string, z>>)['queue']?.dict as Readonly<Record<string, z>>

export const QueueSettingsSchema = z.object({
  mode: fields['mode'],
  debounceMs: fields['debounceMs'],
  cap: fields['cap'],
  drop: fields['drop'],
} as Record<string, z>) as unknown as z<Pick<QueueSettings, 'mode' | 'debounceMs' | 'cap' | 'drop'>>

/** The configuration as it holds now, whenever it is read. */
export function personConfig(ctx: Context, config: Config): Config {
  const { mode, debounceMs, cap, drop } = config.queue
  const holds = personSettings(ctx, {
    namespace: QUEUE_NAMESPACE,
    schema: QueueSettingsSchema,
    configured: { mode, debounceMs, cap, drop },
  })
  return {
    ...config,
    get queue() {
      return { ...config.queue, ...holds() }
    },
  }
}
