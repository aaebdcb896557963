/**
 * [wave-ideal] 64 works, 8 operators at a time, a model that takes 200 ms, against 64 bare DSH children,
 * 8 wide, in the same composition. Times: lower is better; the ratio is the one over the other.
 */
import type { Agent } from '@deepseek-ai/dsh-agent'
import { figureOf, type BenchFigure } from '../../../scripts/figures.ts'
import { Composition, worksNamed } from './composition.ts'

const WORKS = 64
const WIDTH = 8
const ROUNDS = 3

export async function run(): Promise<BenchFigure[]> {
  const ours: number[] = []
  const base: number[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    await using composition = await Composition.boot({
      modelMs: 200,
      config: { maxNewActivations: WIDTH },
    })
    const root = await composition.root(`root-${round}`)
    const sides = [
      async () => ours.push(await graphTime(composition, root)),
      async () => base.push(await childrenTime(composition, root)),
    ]
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side()
  }
  // The first round warms both up.
  const baseline = `${WORKS} bare children, ${WIDTH} wide`
  return [figureOf('wave-ideal', 'ms', { ours: ours.slice(1), base: base.slice(1), baseline })]
}

async function graphTime(composition: Composition, root: Agent): Promise<number> {
  const ended = composition.whenEnded(root.id, WORKS)
  const begin = performance.now()
  for (const half of ['a', 'b']) await composition.add(root.id, worksNamed(half, WORKS / 2))
  await ended
  return performance.now() - begin
}

async function childrenTime({ ctx }: Composition, parent: Agent): Promise<number> {
  const begin = performance.now()
  let left = WORKS
  const lane = async () => {
    while (left > 0) {
      left -= 1
      const started = await ctx.subagents.start('spawn', {
        parent,
        prompt: [{ type: 'text', text: 'Say one word.' }],
        signal: new AbortController().signal,
      })
      await started.result
      await started.dispose()
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, lane))
  return performance.now() - begin
}
