/**
 * [wake-latency] From an operator's last token to the first byte of the root's next request, over a bare
 * `followup` of the same root to its request. Both are measured in turn in one process.
 *
 * Changes gather for `wakeDelayMs` (250 by default) before a wake is made: that is a choice, not a cost,
 * so it is 0 here. Sessions are JSONL files and the log is SQLite with durable commits. The operator's
 * model takes 50 ms: DSH makes the file of a new session while its model answers.
 */
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { quantile, type BenchFigure } from '../../../scripts/figures.ts'
import { Stage } from './stage.ts'

const WARM_UP = 10
const ROUNDS = 120
const OPERATOR_MS = 50

export async function run(): Promise<BenchFigure[]> {
  const stage = await Stage.set({ config: { wakeDelayMs: 0 }, operatorMs: OPERATOR_MS })
  const wakes: number[] = []
  const followups: number[] = []
  try {
    for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
      const sides = [
        { samples: wakes, measure: wakeOf },
        { samples: followups, measure: followupOf },
      ]
      for (const { measure, samples } of round % 2 === 0 ? sides : sides.toReversed()) {
        const took = await measure(stage, round)
        if (round >= WARM_UP) samples.push(took)
      }
    }
  } finally {
    await stage.strike()
  }
  const above = quantile(wakes, 0.95) - quantile(followups, 0.95)
  return [
    {
      bench: 'wake-latency',
      median: quantile(wakes, 0.5),
      p95: quantile(wakes, 0.95),
      unit: 'ms',
      baseline: `a bare followup, p50 ${quantile(followups, 0.5).toFixed(2)} ms, p95 ${quantile(followups, 0.95).toFixed(2)} ms: p95 ${above.toFixed(2)} ms above it`,
      ratio: quantile(wakes, 0.95) / quantile(followups, 0.95),
      n: wakes.length,
    },
  ]
}

async function wakeOf(stage: Stage, round: number): Promise<number> {
  let endedAt = 0
  stage.model.onOperatorEnd = (at) => (endedAt = at)
  const arrival = rootRequest(stage)
  const isTold = stage.when((state) => state.seenChangeSeq > round && state.live.openWakeId === undefined)
  await stage.call('update', { addWork: [{ workId: `w${round}`, instruction: 'say done' }] })
  const arrivedAt = await arrival
  await isTold
  await stage.root.whenIdle()
  return arrivedAt - endedAt
}

async function followupOf(stage: Stage): Promise<number> {
  const arrival = rootRequest(stage)
  const sentAt = performance.now()
  stage.root.followup(
    createUserMessage({ content: [{ type: 'text', text: 'note this' }], source: { kind: 'user' } }),
  )
  const arrivedAt = await arrival
  await stage.root.whenIdle()
  return arrivedAt - sentAt
}

function rootRequest({ model }: Stage): Promise<number> {
  return new Promise((resolve) => (model.onRootRequest = resolve))
}

if (import.meta.main) {
  for (const result of await run()) process.stdout.write(`${JSON.stringify(result)}\n`)
}
