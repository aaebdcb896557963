/** Faults in when a graph is built, compiled and looked at: R62 to R68, R131, R132. */
import type { Mutation } from './mutation.ts'

export const mutations: readonly Mutation[] = [
  {
    requirement: 'R62',
    file: 'tool.ts',
    search: 'const reading = read(named)',
    replace: 'void source.ready(); const reading = read(named)',
    spec: 'auto-mount.spec.ts',
  },
  {
    requirement: 'R62',
    file: 'picture.ts',
    search: 'const peeked = source.peek()',
    replace: 'void source.ready(); const peeked = source.peek()',
    spec: 'picture.spec.ts',
  },
  {
    requirement: 'R63',
    file: 'graph-source.ts',
    search: 'return (this.compiled = compiled)',
    replace: 'return compiled',
    spec: 'compile.spec.ts',
  },
  {
    requirement: 'R64',
    file: 'graph-source.ts',
    search: 'if (this.compiled !== undefined) return this.compiled',
    replace: '',
    spec: 'compile.spec.ts',
  },
  {
    requirement: 'R65',
    file: 'graph-source.ts',
    search: 'return (this.compiling = this.compiling.finally(() => (this.compiling = undefined)))',
    replace: 'return this.compiling',
    spec: 'compile.spec.ts',
  },
  {
    requirement: 'R65',
    file: 'graph-source.ts',
    search: 'if (this.compiling !== undefined) return this.compiling',
    replace: '',
    spec: 'compile.spec.ts',
  },
  {
    requirement: 'R66',
    file: 'graph-source.ts',
    search: 'if (!isPromise(product)) return (this.built = this.accept(product))',
    replace: 'if (!isPromise(product)) return this.accept(product)',
    spec: 'compile.spec.ts',
  },
  {
    requirement: 'R66',
    file: 'graph-source.ts',
    search: 'if (this.building !== undefined) return this.building',
    replace: '',
    spec: 'compile.spec.ts',
  },
  {
    requirement: 'R67',
    file: 'describe.ts',
    search: "const nodes = recordAt(graph, 'nodes')",
    replace: "const nodes = recordAt(graph, 'edges') && recordAt(graph, 'nodes')",
    spec: 'tool-schema.spec.ts',
  },
  {
    requirement: 'R68',
    file: 'tool.ts',
    search: 'const shape = graph && shapeOf(graph)',
    replace: "const shape = graph && Reflect.get(graph, 'nodes') !== null ? shapeOf(graph) : undefined",
    spec: 'tool-schema.spec.ts',
  },
  {
    requirement: 'R131',
    file: 'describe.ts',
    search: " || name.startsWith('branch:')",
    replace: '',
    spec: 'tool-schema.spec.ts',
  },
  {
    requirement: 'R131',
    file: 'describe.ts',
    search: "name.startsWith('__') || ",
    replace: "name === '__start__' || ",
    spec: 'tool-schema.spec.ts',
  },
  {
    requirement: 'R131',
    file: 'describe.ts',
    search: "const shown = names.slice(0, LISTED).join(', ')",
    replace:
      'const shown = names.slice(0, LISTED).toSorted(() => Math.random() - 0.5).join(String(Math.random()))',
    spec: 'tool-schema.spec.ts',
  },
  {
    requirement: 'R132',
    file: 'describe.ts',
    search: 'rootState: Object.hasOwn(channels, ROOT_STATE)',
    replace: 'rootState: false',
    spec: 'tool-schema.spec.ts',
  },
]
