/**
 * What a person sets in DSH's settings for the graphs of this host, over what its row configures. What
 * is set holds from the next decision on: works under way keep what they began with.
 */
import type { Context } from '@deepseek-ai/cordis'
import z from '@deepseek-ai/schemastery'
import { personSettings } from '@dsh-graph/plugin-mount'
import { Config } from './config.ts'

/** Also the key of the card in the page. */
export const HOST_NAMESPACE = 'dsh-graph-host'

/** Fields of the row's configuration with the same name, and one of its limits. */
export interface HostSettings extends Pick<
  Config,
  'maxNewActivations' | 'operatorTimeoutMs' | 'workspace' | 'adoptRoots'
> {
  /** `limits.maxTokens`; absent: no limit. */
  readonly maxTokens?: number
}

const fields = Config.dict as Readonly<Record<string, z>>
const limits = fields['limits']?.dict as Readonly<Record<string, z>>

export const HostSettingsSchema = z.object({
  maxNewActivations: fields['maxNewActivations'],
  operatorTimeoutMs: fields['operatorTimeoutMs'],
  workspace: fields['workspace'],
  adoptRoots: fields['adoptRoots'],
  maxTokens: limits['maxTokens'],
} as Record<string, z>) as unknown as z<HostSettings>

/**
 * The configuration as it holds now, whenever it is read.
 *
 * @param onChange after what holds may have changed.
 */
export function personConfig(ctx: Context, config: Config, onChange: () => void): Config {
  const { maxNewActivations, operatorTimeoutMs, workspace, adoptRoots } = config
  const { maxTokens } = config.limits
  const holds = personSettings<HostSettings>(ctx, {
    namespace: HOST_NAMESPACE,
    schema: HostSettingsSchema,
    configured: {
      maxNewActivations,
      operatorTimeoutMs,
      workspace,
      adoptRoots,
      ...(maxTokens === undefined ? {} : { maxTokens }),
    },
    onChange,
  })
  return {
    ...config,
    get maxNewActivations() {
      return holds().maxNewActivations
    },
    get operatorTimeoutMs() {
      return holds().operatorTimeoutMs
    },
    get workspace() {
      return holds().workspace
    },
    get adoptRoots() {
      return holds().adoptRoots
    },
    get limits() {
      const { maxTokens: _configured, ...others } = config.limits
      const { maxTokens: most } = holds()
      return most === undefined ? others : { ...others, maxTokens: most }
    },
  }
}
