/**
 * What runs and hooks chose for the requests of a turn, and what the agent would have asked for by
 * itself. DSH proposes for each request what the one before used, so a choice made for one turn would
 * stay for ever; what was there before it is kept here and put back.
 *
 *     DSH's proposal ─► home ─► the run's choice ─► the hooks' choice ─► went ─► the request
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { LlmCallConfig } from '@deepseek-ai/dsh-llm'

interface Detour {
  readonly home: LlmCallConfig
  readonly used: LlmCallConfig
}

export class ModelDetours {
  private readonly detours = new WeakMap<Agent, Detour>()
  private readonly homes = new WeakMap<Agent, LlmCallConfig>()

  /** What the agent asks for by itself, before anybody of ours chooses. */
  home(agent: Agent, proposed: LlmCallConfig): LlmCallConfig {
    const detour = this.detours.get(agent)
    const home = detour !== undefined && isLeftBy(detour, proposed) ? detour.home : proposed
    this.homes.set(agent, home)
    return home
  }

  /** What the request goes out with. */
  went(agent: Agent, used: LlmCallConfig): void {
    const home = this.homes.get(agent)
    if (home === undefined || isSameRoute(home, used)) this.detours.delete(agent)
    else this.detours.set(agent, { home, used })
  }
}

/** Others may have an effort of their own for a model that was asked for without one. */
function isLeftBy({ used }: Detour, proposed: LlmCallConfig): boolean {
  const { provider, model, reasoningEffort = proposed.reasoningEffort } = used
  return isSameRoute({ provider, model, reasoningEffort }, proposed)
}

type Route = { [K in 'provider' | 'model' | 'reasoningEffort']?: LlmCallConfig[K] | undefined }

function isSameRoute(one: Route, other: Route): boolean {
  return (
    one.provider === other.provider &&
    one.model === other.model &&
    one.reasoningEffort === other.reasoningEffort
  )
}
