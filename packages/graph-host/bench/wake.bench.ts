/**
 * [wake-latency] From the last token of an operator to the first byte of its root's next request, against
 * a bare `followup` to the model in the same composition. Changes gather for no time here
 * (`wakeDelayMs: 0`); what is set there is added.
 */
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { quantile, type BenchFigure } from '../../../scripts/figures.ts'
import { Composition, worksNamed } from './composition.ts'

const SAMPLES = 60
const WARM_UP = 10

export async function run(): Promise<BenchFigure[]> {
  const ours: number[] = []
  const base: number[] = []
  await using composition = await Composition.boot({ modelMs: 0, config: { wakeDelayMs: 0 } })
  const { model } = composition
  const root = await composition.root('root')
  for (let sample = 0; sample < SAMPLES + WARM_UP; sample += 1) {
    const asked = nextRequest(composition)
    await composition.add('root', worksNamed(`w${sample}-`, 1))
    await asked
    const { operators, works } = await composition.graph('root')
    const operatorId = works.get(`w${sample}-0`)?.operatorId ?? ''
    const sessionId = operators.get(operatorId)?.targetSessionId ?? ''
    const wake = (model.askedAt.get('root') ?? 0) - (model.answeredAt.get(sessionId) ?? 0)
    await root.whenIdle()
    const again = nextRequest(composition)
    const begin = performance.now()
    root.followup(
      createUserMessage({ content: [{ type: 'text', text: 'Say one word.' }], source: { kind: 'user' } }),
    )
    await again
    const bare = (model.askedAt.get('root') ?? 0) - begin
    await root.whenIdle()
    if (sample < WARM_UP) continue
    ours.push(wake)
    base.push(bare)
  }
  const [p95, bareP95] = [quantile(ours, 0.95), quantile(base, 0.95)]
  return [
    {
      bench: 'wake-latency',
      median: quantile(ours, 0.5),
      p95,
      unit: 'ms',
      baseline: `p95 of a bare followup, ${bareP95.toPrecision(3)} ms; ours is ${(p95 - bareP95).toFixed(1)} ms above`,
      ratio: p95 / bareP95,
      n: ours.length,
    },
  ]
}

/** Resolves when the root has asked its model once more and was answered. */
function nextRequest({ ctx }: Composition): Promise<void> {
  return new Promise((resolve) => {
    const off = ctx.on('session/event', (session, event) => {
      if (session.id !== 'root' || event.type !== 'turn/end') return
      void off()
      resolve()
    })
  })
}
