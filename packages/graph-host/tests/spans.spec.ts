import {
  trace,
  type Attributes,
  type Span,
  type SpanOptions,
  type SpanStatus,
  type Tracer,
} from '@opentelemetry/api'
import { memoryLog } from 'dsh-durable-log'
import { GraphControlStore } from 'dsh-graph-control'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { GraphSpans } from '../src/spans.ts'
import { addWorks, claimWork, settleWork } from './graph-deeds.ts'
import { Host, settleDown, until, wakesOf } from './host.ts'

interface Recorded {
  readonly name: string
  readonly attributes: Record<string, unknown>
  status: SpanStatus | undefined
  ends: number
}

/** What a tracing SDK would be told. */
class Recorder {
  readonly spans: Recorded[] = []

  readonly tracer = {
    startSpan: (name: string, { attributes = {} }: SpanOptions = {}): Span => {
      const recorded: Recorded = { name, attributes: { ...attributes }, status: undefined, ends: 0 }
      this.spans.push(recorded)
      const span = {
        setAttribute: (key: string, value: unknown) => Object.assign(recorded.attributes, { [key]: value }),
        setAttributes: (more: Attributes) => Object.assign(recorded.attributes, more),
        setStatus: (status: SpanStatus) => (recorded.status = status),
        end: () => (recorded.ends += 1),
      }
      return span as unknown as Span
    },
  } as unknown as Tracer

  told(): readonly string[] {
    return this.spans.map(
      ({ attributes, ends, name, status }) =>
        `${name} ${attributes['dsh.graph.work_id'] ?? ''}#${attributes['dsh.graph.attempt'] ?? ''} ${attributes['dsh.graph.outcome'] ?? 'open'} ${status?.code ?? '-'} ended ${ends}`,
    )
  }
}

async function observed() {
  const recorder = new Recorder()
  const spans = new GraphSpans(recorder.tracer)
  const store = await GraphControlStore.open(memoryLog())
  store.onCommitted((state) => spans.observe(state))
  return { recorder, spans, store }
}

describe('spans', () => {
  it('are one for each attempt of a work, ended once with how it went', async () => {
    const { recorder, store } = await observed()
    const graphId = await addWorks(store, 'root', [{ workId: 'good' }, { workId: 'bad' }, { workId: 'lost' }])
    await claimWork(store, graphId, 'good')
    await claimWork(store, graphId, 'bad')
    const claimId = await claimWork(store, graphId, 'lost')
    const usage = { inputTokens: 7, outputTokens: 3 }
    await settleWork(store, graphId, 'good', { outcome: 'completed', conclusion: 'a secret', usage })
    await settleWork(store, graphId, 'bad', { outcome: 'failed', reason: 'a secret' })
    await store.retryActivation(graphId, claimId, 1, 'a secret')
    expect(recorder.told()).toEqual([
      'dsh.graph.activation good#1 completed 1 ended 1',
      'dsh.graph.activation bad#1 failed 2 ended 1',
      'dsh.graph.activation lost#1 open 2 ended 1',
      'dsh.graph.activation lost#2 open - ended 0',
    ])
    expect(recorder.spans[0]?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 7,
      'gen_ai.usage.output_tokens': 3,
    })
    expect(JSON.stringify(recorder.spans)).not.toContain('a secret')
  })

  it('that are open when the host goes say so', async () => {
    const { recorder, spans, store } = await observed()
    const graphId = await addWorks(store, 'root', [{ workId: 'a' }])
    await claimWork(store, graphId, 'a')
    spans.close()
    spans.close()
    expect(recorder.spans).toMatchObject([{ ends: 1, attributes: { 'dsh.graph.detached': true } }])
  })
})

describe('a host where OpenTelemetry is set up', () => {
  const recorder = new Recorder()

  beforeAll(() => {
    trace.setGlobalTracerProvider({ getTracer: () => recorder.tracer })
  })

  beforeEach(() => void recorder.spans.splice(0))

  it('tells each work and the wake, and nothing of another root', async () => {
    const host = await Host.boot()
    await settleDown()
    const root = await host.root()
    await addWorks(host.ctx.graphControl, 'stranger', [{ workId: 'x' }]).then((graphId) =>
      claimWork(host.ctx.graphControl, graphId, 'x'),
    )
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await until(() => wakesOf(root).length === 1)
    await host.controller(root).whenQuiet()
    await until(() => recorder.spans.every(({ ends }) => ends === 1))
    expect(recorder.told()).toEqual([
      'dsh.graph.activation a#1 completed 1 ended 1',
      'dsh.graph.wake # delivered 1 ended 1',
    ])
  })

  it('ends its spans with its row', async () => {
    const host = await Host.boot()
    await settleDown()
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'stand at gate a' })
    await host.gates.reached('a')
    await until(() => recorder.spans.length === 1)
    await host.unmount('graph-host')
    expect(recorder.spans).toMatchObject([{ ends: 1, attributes: { 'dsh.graph.detached': true } }])
  })
})
