/**
 * [wave-ideal] 64 works by operators, 8 at a time, whose model takes 200 ms, over 64 bare child agents of
 * DSH, 8 at a time, with the same model in the same process. Both are measured in turn.
 *
 * A bare child is created, asked, waited for and let go of; nothing of it is durable but its session. A
 * work is that, and its run, its claim, its result and the wakes of its root.
 */
import { randomUUID } from 'node:crypto'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { createOperator } from '../src/operator-agent.ts'
import { rootRoute } from '../src/routes.ts'
import { figureOf, type BenchFigure } from '../../../scripts/figures.ts'
import { ROOT, Stage } from './stage.ts'

const ROUNDS = 7
const WORKS = 64
const WIDTH = 8
const MODEL_MS = 200

export async function run(): Promise<BenchFigure[]> {
  const stage = await Stage.set({ config: { maxNewActivations: WIDTH }, operatorMs: MODEL_MS })
  const ours: number[] = []
  const base: number[] = []
  try {
    for (let round = 0; round < 1 + ROUNDS; round += 1) {
      const sides = [
        { samples: ours, play: () => worksOf(stage, round) },
        { samples: base, play: () => childrenOf(stage) },
      ]
      for (const { play, samples } of round % 2 === 0 ? sides : sides.toReversed()) {
        const begin = performance.now()
        await play()
        // The first round compiles.
        if (round > 0) samples.push(performance.now() - begin)
        await stage.root.whenIdle()
      }
    }
  } finally {
    await stage.strike()
  }
  const baseline = `${WORKS} bare children, ${WIDTH} wide; the models alone take ${(WORKS / WIDTH) * MODEL_MS} ms`
  return [figureOf('wave-ideal', 'ms', { ours, base, baseline })]
}

async function worksOf(stage: Stage, round: number): Promise<void> {
  const isDone = stage.when(({ counts }) => counts.terminal === (round + 1) * WORKS)
  const works = Array.from({ length: WORKS }, (_, at) => ({
    workId: `w${round}-${at}`,
    instruction: 'say done',
  }))
  // One update takes 32 works.
  for (let at = 0; at < WORKS; at += 32) await stage.call('update', { addWork: works.slice(at, at + 32) })
  await isDone
}

async function childrenOf(stage: Stage): Promise<void> {
  let left = WORKS
  const worker = async () => {
    for (; left > 0;) {
      left -= 1
      await childOf(stage)
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, worker))
}

async function childOf({ ctx, root }: Stage): Promise<void> {
  const kind = { description: '' }
  const seat = {
    sessionId: `bare-${randomUUID()}`,
    rootSessionId: ROOT,
    kind,
    route: rootRoute(root),
    label: 'bare',
  }
  const child = await createOperator({ ...seat, ownTools: false, isWrittenAhead: false }, root)
  child.agent.followup(
    createUserMessage({ content: [{ type: 'text', text: 'say done' }], source: { kind: 'user' } }),
  )
  await child.agent.whenIdle()
  await ctx.sessions.flush(child.agent.session)
  await child.dispose()
}

if (import.meta.main) {
  for (const result of await run()) process.stdout.write(`${JSON.stringify(result)}\n`)
}
