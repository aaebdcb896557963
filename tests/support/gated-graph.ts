/** A bundle with one code graph, `assay`, that stops in its second node until a test lets it on. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackedPackage } from '../../scripts/pack.ts'
import { packFolder } from './packed-packages.ts'

export interface GatedGraph {
  readonly packed: PackedPackage
  /** Lets it on, for good. */
  open(): void
}

const PATCH = '- insert:\n    - id: gated-graph\n      name: gated-graph\n'

function entry(gate: string): string {
  return `
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { defineGraph } from 'dsh-graph-runtime'

export const name = 'gated-graph'
export function apply() {}

const State = Annotation.Root({ sample: Annotation(), grams: Annotation(), verdict: Annotation() })

export const assay = defineGraph({
  name: 'assay',
  description: 'Weighs a sample and says what it is.',
  parameters: { sample: { type: 'string', required: true, description: 'What to assay.' } },
  build: () =>
    new StateGraph(State)
      .addNode('weigh', () => ({ grams: 12 }))
      .addNode('melt', async () => {
        while (!existsSync(${JSON.stringify(gate)})) await pause(20)
        return {}
      })
      .addNode('judge', ({ sample }) => ({ verdict: 'gold in ' + sample }))
      .addNode('discard', () => ({ verdict: 'nothing' }))
      .addEdge(START, 'weigh')
      .addEdge('weigh', 'melt')
      .addConditionalEdges('melt', ({ grams }) => (grams > 10 ? 'judge' : 'discard'), ['judge', 'discard'])
      .addEdge('judge', END)
      .addEdge('discard', END),
  asTool: true,
})
`
}

/** @param folder an empty one of the test's own. @param versions of what it depends on. */
export function packGatedGraph(folder: string, versions: Readonly<Record<string, string>>): GatedGraph {
  const gate = join(folder, 'open')
  const dir = join(folder, 'package')
  mkdirSync(dir, { recursive: true })
  const manifest = {
    name: 'gated-graph',
    version: '1.0.0',
    type: 'module',
    main: './index.js',
    exports: { '.': './index.js', './package.json': './package.json' },
    files: ['index.js', 'cordis.patch.yml'],
    dsh: { bundle: { patch: './cordis.patch.yml' } },
    dependencies: versions,
  }
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(dir, 'cordis.patch.yml'), PATCH)
  writeFileSync(join(dir, 'index.js'), entry(gate))
  return {
    packed: packFolder(dir, folder),
    open: () => {
      if (!existsSync(gate)) writeFileSync(gate, '')
    },
  }
}
