/**
 * The model a hook chose for one turn. DSH proposes for each request what the one before used, so the
 * choice of one turn would stay for ever; what was there before it is kept here and put back.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { LlmCallConfig } from '@deepseek-ai/dsh-llm'
import type { ModelChoice } from './types.ts'

interface Detour {
  readonly own: Pick<LlmCallConfig, 'provider' | 'model' | 'reasoningEffort'>
  readonly used: Pick<LlmCallConfig, 'provider' | 'model'>
}

export class ModelRoutes {
  private readonly detours = new WeakMap<Agent, Detour>()

  /** The configuration of a request, by the choice of its turn. */
  route(agent: Agent, proposed: LlmCallConfig, choice: ModelChoice): LlmCallConfig {
    const config = this.withoutDetour(agent, proposed)
    const used = {
      provider: choice.providerOverride ?? config.provider,
      model: choice.modelOverride ?? config.model,
    }
    if (isSame(used, config)) {
      this.detours.delete(agent)
      return config
    }
    // The effort belongs to the model it was chosen for; another one may not know it.
    const { reasoningEffort, ...rest } = config
    const { provider, model } = config
    const own = { provider, model, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) }
    this.detours.set(agent, { own, used })
    return { ...rest, ...used }
  }

  private withoutDetour(agent: Agent, proposed: LlmCallConfig): LlmCallConfig {
    const detour = this.detours.get(agent)
    if (detour === undefined || !isSame(detour.used, proposed)) return proposed
    return { ...proposed, ...detour.own }
  }
}

function isSame(a: Pick<LlmCallConfig, 'provider' | 'model'>, b: Pick<LlmCallConfig, 'provider' | 'model'>) {
  return a.provider === b.provider && a.model === b.model
}
