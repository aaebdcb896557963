/**
 * What it costs to mount a thousand graphs in a process that has mounted none before, each process anew:
 * plainly, with their structure read, and as tools. Both defining and mounting count. Ratios are the cost
 * over what Cordis or DSH takes for a bare registration of the same kind, in the same process.
 */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { figureOf, type BenchFigure } from '../../../scripts/figures.ts'
import type { MountKind, MountSample } from './mount-process.ts'

const PROCESSES = 7

function sample(kind: MountKind): MountSample {
  const script = resolve(import.meta.dirname, 'mount-process.ts')
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, kind], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as MountSample
}

function figure(bench: string, kind: MountKind, baseline: string): BenchFigure[] {
  const samples = Array.from({ length: PROCESSES }, () => sample(kind))
  const mount = figureOf(bench, 'µs', {
    ours: samples.map(({ mountUs }) => mountUs),
    base: samples.map(({ bareUs }) => bareUs),
    baseline,
  })
  const cpu = figureOf(`${bench}-cpu`, 'µs', {
    ours: samples.map(({ mountCpuUs }) => mountCpuUs),
    base: samples.map(({ bareCpuUs }) => bareCpuUs),
    baseline: `CPU time of all threads, ${baseline}`,
  })
  if (kind !== 'plain') return [mount, cpu]
  const lookUp = figureOf('mount-look-up', 'ns', {
    ours: samples.map(({ lookUpNs }) => lookUpNs),
    base: samples.map(({ lookUpOfFewNs }) => lookUpOfFewNs),
    baseline: 'cost among 1,000 graphs over its cost among 10',
  })
  return [mount, cpu, lookUp]
}

export async function run(): Promise<BenchFigure[]> {
  return [
    ...figure('mount', 'plain', 'cost over a bare Cordis effect'),
    ...figure('mount-reading', 'reading', 'cost over a bare Cordis effect'),
    ...figure('mount-tool', 'tool', 'cost over a bare ctx.tools.register'),
  ]
}
