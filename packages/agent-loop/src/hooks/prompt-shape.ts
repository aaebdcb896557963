/** How an assembled system prompt changes by what hooks decided. Pure. */
import type { PromptAssembly } from '@deepseek-ai/dsh-system-prompt'
import type { BootstrapFile, ModelChoice, PromptAddition } from './types.ts'

/** What hooks changed about the contexts of the first assembly; applied to each later one of the turn. */
export interface ContextChanges {
  readonly removed: ReadonlySet<string>
  readonly changed: ReadonlyMap<string, string>
  readonly added: readonly BootstrapFile[]
}

export function changesOf(before: readonly BootstrapFile[], after: readonly BootstrapFile[]): ContextChanges {
  const known = new Map(before.map(({ name, text }) => [name, text]))
  const kept = new Set(after.map(({ name }) => name))
  return {
    removed: new Set([...known.keys()].filter((name) => !kept.has(name))),
    changed: new Map(
      after
        .filter(({ name, text }) => known.has(name) && known.get(name) !== text)
        .map(({ name, text }) => [name, text]),
    ),
    added: after.filter(({ name }) => !known.has(name)),
  }
}

export function shapeAssembly(
  assembly: PromptAssembly,
  model: ModelChoice,
  addition: PromptAddition,
  contexts: ContextChanges,
): PromptAssembly {
  const variables = { ...assembly.variables }
  if (model.providerOverride !== undefined) variables['provider'] = model.providerOverride
  if (model.modelOverride !== undefined) variables['model'] = model.modelOverride
  const literal = literals(variables)
  const section = (part: keyof PromptAddition) => {
    const text = addition[part]
    return text === undefined || text === '' ? [] : [{ name: `hooks:${part}`, text: literal(text) }]
  }
  const own = addition.systemPrompt === undefined ? assembly.sections : section('systemPrompt')
  return {
    ...assembly,
    variables,
    sections: [...section('prependSystemContext'), ...own, ...section('appendSystemContext')],
    contexts: [
      ...assembly.contexts
        .filter(({ name }) => !contexts.removed.has(name))
        .map(({ name, text }) => {
          const changed = contexts.changed.get(name)
          return { name, text: changed === undefined ? text : literal(changed) }
        }),
      ...contexts.added.map(({ name, text }) => ({ name, text: literal(text) })),
    ],
  }
}

/**
 * Texts of hooks are foreign: `{{` in them would be read as a variable and fail the turn, so such a text
 * goes in as the value of one, which is not scanned again.
 */
function literals(variables: Record<string, string | undefined>): (text: string) => string {
  let count = 0
  return (text) => {
    if (!text.includes('{{')) return text
    const name = `hook_text_${(count += 1)}`
    variables[name] = text
    return `{{${name}}}`
  }
}
