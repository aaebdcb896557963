/** The configuration of a request by the choice of its turn's hooks. Pure. */
import type { LlmCallConfig } from '@deepseek-ai/dsh-llm'
import type { ModelChoice } from './types.ts'

export function configOfChoice(config: LlmCallConfig, choice: ModelChoice): LlmCallConfig {
  const provider = choice.providerOverride ?? config.provider
  const model = choice.modelOverride ?? config.model
  if (provider === config.provider && model === config.model) return config
  // The effort belongs to the model it was chosen for; another one may not know it.
  const { reasoningEffort: _effort, ...rest } = config
  return { ...rest, provider, model }
}
