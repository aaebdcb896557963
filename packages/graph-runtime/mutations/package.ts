/** Faults of the package and its row: R1 to R9. */
import type { Mutation } from './mutation.ts'

export const mutations: readonly Mutation[] = [
  {
    requirement: 'R1',
    file: '../package.json',
    search: '"name": "dsh-graph-runtime"',
    replace: '"name": "graph-runtime"',
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R1',
    file: '../package.json',
    search: '"patch": "./cordis.patch.yml"',
    replace: '"patch": "./patch.yml"',
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R2',
    file: '../cordis.patch.yml',
    search: '    - id: graph-runtime',
    replace: '    - id: other\n      name: dsh-graph-runtime\n    - id: graph-runtime',
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R3',
    file: 'index.ts',
    search: 'export const Config = z.object({})',
    replace: 'export const Config = z.object({ profile: z.string().required() })',
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R4',
    file: 'index.ts',
    search: "return mountOnce(ctx, 'dsh-graph-runtime', ['tools'], (live) => {",
    replace: "return mountOnce(ctx, String(Math.random()), ['tools'], (live) => {",
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R5',
    file: 'index.ts',
    search: "mountOnce(ctx, 'dsh-graph-runtime', ['tools']",
    replace: "mountOnce(ctx, 'dsh-graph-runtime', ['tools', 'webServer']",
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R6',
    file: '../package.json',
    search: '    "dist",\n',
    replace: '',
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R7',
    file: 'index.ts',
    search: "export { createGraphTool } from './tool.ts'",
    replace: '',
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R8',
    file: 'index.ts',
    search: "import { autoMount } from './auto-mount.ts'",
    replace: "import '@langchain/langgraph'\nimport { autoMount } from './auto-mount.ts'",
    spec: 'plugin.spec.ts',
  },
  {
    requirement: 'R9',
    file: 'index.ts',
    search: "live.provide('graphTools', graphs)",
    replace: "live.root.provide('graphTools', graphs)",
    spec: 'auto-mount.spec.ts',
  },
]
