/** The presets of DSH, which only some profiles have, as kinds of operators. */
import type { Context } from '@deepseek-ai/cordis'
import type { CatalogEntry } from 'dsh-tool-graph'
import { GraphHostError } from './errors.ts'

/** What is used of DSH's roster of presets. */
interface Presets {
  list(): Promise<readonly { readonly id: string; readonly description?: string; readonly broken?: string }[]>
  mount(agentCtx: Context, id: string): Promise<unknown>
}

/** Those that can compose a session. */
export async function listPresets(ctx: Context): Promise<readonly CatalogEntry[]> {
  const presets = (await presetsOf(ctx)?.list()) ?? []
  return presets
    .filter(({ broken }) => broken === undefined)
    .map(({ id, description }) => ({ id, ...(description === undefined ? {} : { description }) }))
}

/**
 * Joins an agent that is being made to a preset.
 *
 * @throws GraphHostError `unknown-operator` where this profile has no presets; what DSH refuses with.
 */
export async function mountPreset(agentCtx: Context, id: string): Promise<void> {
  const presets = presetsOf(agentCtx)
  if (presets === undefined)
    throw new GraphHostError('unknown-operator', `preset "${id}" cannot be had: this profile has no presets`)
  await presets.mount(agentCtx, id)
}

function presetsOf(ctx: Context): Presets | undefined {
  return ctx.get('agentPresets') as Presets | undefined
}
