/**
 * Random calls of the three tools, out of a seed: well-formed ones, well-formed ones that were bent,
 * and junk. The ids are mostly those of the graph that the target prepares.
 */

export interface RandomCall {
  readonly tool: 'view_agent_graph' | 'update_agent_graph' | 'yield_agent_graph'
  readonly args: unknown
}

/** Mulberry32: small, and the same everywhere. */
export class Chance {
  private state: number

  constructor(seed: number) {
    this.state = seed >>> 0
  }

  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  one(share: number): boolean {
    return this.next() < share
  }

  among<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T
  }

  many<T>(most: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.below(most + 1) }, (_, index) => make(index))
  }
}

const TOOLS = ['view_agent_graph', 'update_agent_graph', 'yield_agent_graph'] as const
const TEXTS = [
  'do it',
  '',
  '  ',
  'null',
  'x'.repeat(500),
  '<b>&</b>',
  'a\u0000b',
  '\ud800',
  'two\nlines',
  '漢'.repeat(90),
  '"',
  '{{x}}',
]
const KEYS = [
  'workId',
  'work_id',
  'id',
  'instruction',
  'prompt',
  'inputIds',
  'dependsOn',
  'addWork',
  'stop',
  'finish',
  'retry',
  'args',
  'cursor',
  'since',
  'results',
  'graphId',
  '__proto__',
  'constructor',
  'toString',
  'arguments',
  '',
  'reason',
  'targetKind',
  'x',
]

export function randomCall(chance: Chance, ids: readonly string[]): RandomCall {
  const tool = chance.one(0.7) ? 'update_agent_graph' : chance.among(TOOLS)
  const made =
    tool === 'update_agent_graph'
      ? update(chance, ids)
      : tool === 'view_agent_graph'
        ? view(chance, ids)
        : wait(chance, ids)
  if (chance.one(0.1)) return { tool, args: junk(chance, 4) }
  return { tool, args: chance.one(0.5) ? bent(chance, made) : made }
}

function id(chance: Chance, ids: readonly string[]): string {
  return chance.one(0.93) ? chance.among(ids) : chance.among(TEXTS)
}

function given(chance: Chance, share: number, name: string, make: () => unknown): object {
  return chance.one(share) ? { [name]: make() } : {}
}

function update(chance: Chance, ids: readonly string[]): object {
  const some = () => id(chance, ids)
  const reason = () => (chance.one(0.9) ? 'because' : chance.among(TEXTS))
  return {
    ...given(chance, 0.1, 'graphId', some),
    ...given(chance, 0.15, 'operation', () => chance.among(['add_work', 'stop', 'retry', 'finish', 'none'])),
    ...given(chance, 0.6, 'addWork', () => chance.many(4, (index) => work(chance, ids, index))),
    ...given(chance, 0.3, 'stop', () =>
      chance.many(3, () => ({
        targetId: some(),
        reason: reason(),
        ...given(chance, 0.4, 'cascadeDownstream', () => chance.one(0.5)),
      })),
    ),
    ...given(chance, 0.2, 'retry', () => chance.many(2, () => ({ workId: some(), reason: reason() }))),
    ...given(chance, 0.12, 'finish', () => ({ resultIds: chance.many(3, some), reason: reason() })),
    ...given(chance, 0.1, 'draft', () => chance.among(['open', 'commit'])),
    ...given(chance, 0.2, 'idempotencyKey', () => chance.among(['k1', 'k2', chance.among(TEXTS)])),
  }
}

function work(chance: Chance, ids: readonly string[], index: number): object {
  const some = () => id(chance, ids)
  return {
    workId: chance.one(0.95) ? `new${index}` : some(),
    instruction: chance.one(0.95) ? 'do it' : chance.among(TEXTS),
    ...given(chance, 0.5, 'inputIds', () =>
      chance.many(3, () => (chance.one(0.3) ? `new${chance.below(4)}` : some())),
    ),
    ...given(chance, 0.2, 'title', () => (chance.one(0.8) ? 'A title' : chance.among(TEXTS))),
    ...given(chance, 0.2, 'when', () =>
      chance.among(['all', 'any', 'always', 'ALL', 'any', 'always', 'never']),
    ),
    ...given(chance, 0.05, 'forEach', some),
    ...given(chance, 0.08, 'replaces', some),
    ...given(chance, 0.1, 'replacementMode', () => chance.among(['none', 'replace'])),
    ...given(chance, 0.08, 'targetKind', () =>
      chance.among(['new_agent', 'new_preset', 'existing_operator', 'code_graph', 'agent']),
    ),
    ...given(chance, 0.15, 'agentId', () =>
      chance.among(['default', 'writer', 'default', 'writer', 'nobody']),
    ),
    ...given(chance, 0.04, 'subagentId', () => chance.among(['reviewer', 'nobody'])),
    ...given(chance, 0.05, 'operatorId', some),
    ...given(chance, 0.04, 'graphName', () => 'digest'),
    ...given(chance, 0.03, 'args', () => junk(chance, 3)),
    ...given(chance, 0.1, 'model', () => chance.among(['m1', 'm2'])),
    ...given(chance, 0.04, 'effort', () => chance.among(['low', 'none'])),
    ...given(chance, 0.04, 'selectedResultInputs', () =>
      chance.many(2, () => ({ sourceGraphId: some(), resultId: some() })),
    ),
  }
}

function view(chance: Chance, ids: readonly string[]): object {
  return {
    ...given(chance, 0.2, 'graphId', () => id(chance, ids)),
    ...given(chance, 0.3, 'mode', () => chance.among(['full', 'summary', 'brief'])),
    ...given(chance, 0.3, 'since', () => chance.among([0, 1, 5, -1, 1e9, 2.5, '3'])),
    ...given(chance, 0.2, 'cursor', () => chance.among(['work:1:00000000', 'x', chance.among(TEXTS)])),
    ...given(chance, 0.3, 'results', () =>
      chance.many(9, () => `${id(chance, ids)}${chance.among(['', '@3', '@1.0', '@99999'])}`),
    ),
  }
}

function wait(chance: Chance, ids: readonly string[]): object {
  return {
    ...given(chance, 0.2, 'graphId', () => id(chance, ids)),
    ...given(chance, 0.4, 'reason', () => chance.among(TEXTS)),
    ...given(chance, 0.5, 'until', () => chance.among(['any', 'all', 'some'])),
  }
}

/** One place of a value is written in another way, or replaced by something else. */
function bent(chance: Chance, value: unknown): unknown {
  if (chance.one(0.15)) return JSON.stringify(value)
  if (chance.one(0.1)) return [value]
  if (Array.isArray(value)) {
    if (chance.one(0.2)) return value[0]
    return value.map((item: unknown) => (chance.one(0.5) ? bent(chance, item) : item))
  }
  if (typeof value !== 'object' || value === null) return chance.one(0.5) ? leaf(chance) : value
  const entries = Object.entries(value).map(([key, field]): [string, unknown] => [
    chance.one(0.1)
      ? chance.among(KEYS)
      : chance.one(0.1)
        ? key.replace(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`)
        : key,
    chance.one(0.3) ? bent(chance, field) : field,
  ])
  if (chance.one(0.3)) entries.push([chance.among(KEYS), junk(chance, 2)])
  // As JSON.parse does it: __proto__ is a key like any other.
  return JSON.parse(
    `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${JSON.stringify(field) ?? 'null'}`).join(',')}}`,
  )
}

function leaf(chance: Chance): unknown {
  return chance.among<unknown>([
    null,
    true,
    false,
    0,
    1,
    -1,
    1.5,
    1e300,
    '',
    'true',
    'null',
    chance.among(TEXTS),
    [],
    {},
  ])
}

function junk(chance: Chance, depth: number): unknown {
  if (depth === 0 || chance.one(0.3)) return leaf(chance)
  if (chance.one(0.4)) return chance.many(4, () => junk(chance, depth - 1))
  if (chance.one(0.03)) return deep(chance.among([70, 3_000]))
  const entries = chance.many(4, () => [chance.among(KEYS), junk(chance, depth - 1)] as const)
  return JSON.parse(
    `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${JSON.stringify(field) ?? 'null'}`).join(',')}}`,
  )
}

function deep(levels: number): unknown {
  return JSON.parse('{"a":'.repeat(levels) + '1' + '}'.repeat(levels))
}
