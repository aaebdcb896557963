/**
 * Spans of what graphs do, through `@opentelemetry/api` where the profile has it: one for each attempt
 * of a work, and one for each wake. Names, ids and numbers only: no text of a person or a model.
 *
 * Owns: the open spans. They follow from the states that are seen, so a process that takes a graph up
 * begins the spans of what is under way. Does not own: where spans go; without a provider they cost
 * next to nothing.
 */
import type { Context } from '@deepseek-ai/cordis'
import type * as OtelApi from '@opentelemetry/api'
import type { Span, Tracer } from '@opentelemetry/api'
import type { Claim, GraphControl, GraphState, Wake } from 'dsh-graph-control'

const TRACER = 'dsh-graph-host'
/** `SpanStatusCode` of the API, which is loaded late. */
const OK = 1
const ERROR = 2
const OVER: ReadonlySet<Wake['status']> = new Set<Wake['status']>(['delivered', 'superseded', 'exhausted'])

interface OpenSpan {
  readonly span: Span
  readonly graphId: string
  /** Ends the span if the state says that what it stands for is over. */
  readonly look: (state: GraphState) => boolean
}

export interface SpansDeps {
  readonly ctx: Context
  readonly store: GraphControl
  /** Whether this process acts for the root: of several, one tells. */
  readonly drives: (rootSessionId: string) => boolean
}

/** Traces until `ctx` is disposed. Nothing happens where the API is not there. */
export function traceGraphs({ ctx, drives, store }: SpansDeps): void {
  let isDisposed = false
  ctx.effect(() => () => void (isDisposed = true), 'spans of graphs')
  void loadApi().then((api) => {
    if (api === undefined || isDisposed) return
    const spans = new GraphSpans(api.trace.getTracer(TRACER))
    ctx.effect(
      () =>
        store.onCommitted((state) => {
          if (state.rootSessionId !== undefined && drives(state.rootSessionId)) spans.observe(state)
        }),
      'commits of graphs',
    )
    ctx.effect(() => () => spans.close(), 'open spans of graphs')
  })
}

async function loadApi(): Promise<typeof OtelApi | undefined> {
  try {
    return await import('@opentelemetry/api')
  } catch {
    // The profile does not have it.
    return undefined
  }
}

export class GraphSpans {
  private readonly tracer: Tracer
  /** By attempt of a claim, and by wake. */
  private readonly open = new Map<string, OpenSpan>()

  constructor(tracer: Tracer) {
    this.tracer = tracer
  }

  /** To be called with the state after each commit; costs what is live. */
  observe(state: GraphState): void {
    for (const claimId of state.live.claims.keys()) {
      const claim = state.claims.get(claimId)
      if (claim?.admissionStatus === 'executing') this.beginAttempt(state, claim)
    }
    const wake = state.live.openWakeId === undefined ? undefined : state.wakes.get(state.live.openWakeId)
    if (wake !== undefined) this.beginWake(state, wake)
    for (const [key, { graphId, look }] of this.open)
      if (graphId === state.graphId && look(state)) this.open.delete(key)
  }

  /** What is under way goes on elsewhere, or later: its spans end here and say so. */
  close(): void {
    for (const { span } of this.open.values()) {
      span.setAttribute('dsh.graph.detached', true)
      span.end()
    }
    this.open.clear()
  }

  private beginAttempt(state: GraphState, { attempt, claimId, targetOperatorId, workId }: Claim): void {
    const key = `${claimId}#${attempt}`
    if (this.open.has(key)) return
    const span = this.tracer.startSpan('dsh.graph.activation', {
      attributes: {
        ...graphAttributes(state),
        'dsh.graph.work_id': workId,
        'dsh.graph.operator_id': targetOperatorId,
        'dsh.graph.attempt': attempt,
      },
    })
    const look = (now: GraphState): boolean => {
      const claim = now.claims.get(claimId)
      if (claim === undefined || claim.attempt === attempt) return endSettled(span, now, claim)
      fail(span, 'the attempt was lost')
      return true
    }
    this.open.set(key, { span, graphId: state.graphId, look })
  }

  private beginWake(state: GraphState, { createdAt, wakeId }: Wake): void {
    if (this.open.has(wakeId)) return
    const span = this.tracer.startSpan('dsh.graph.wake', {
      startTime: createdAt,
      attributes: { ...graphAttributes(state), 'dsh.graph.wake_id': wakeId },
    })
    const look = (now: GraphState): boolean => {
      const wake = now.wakes.get(wakeId)
      if (wake !== undefined && !OVER.has(wake.status)) return false
      span.setAttributes({
        'dsh.graph.outcome': wake?.status ?? 'gone',
        'dsh.graph.attempts': wake?.attempts ?? 0,
      })
      if (wake?.status === 'exhausted') fail(span, 'the wake was given up')
      else succeed(span)
      return true
    }
    this.open.set(wakeId, { span, graphId: state.graphId, look })
  }
}

function graphAttributes({ graphId, rootSessionId }: GraphState) {
  return { 'dsh.graph.id': graphId, 'dsh.graph.root_session_id': rootSessionId ?? '' }
}

/** @returns whether the claim is over, and its span with it. */
function endSettled(span: Span, { works }: GraphState, claim: Claim | undefined): boolean {
  if (claim !== undefined && claim.admissionStatus !== 'settled' && claim.admissionStatus !== 'cancelled')
    return false
  const outcome = claim?.outcome ?? 'cancelled'
  const usage = claim === undefined ? undefined : works.get(claim.workId)?.usage
  span.setAttribute('dsh.graph.outcome', outcome)
  if (usage !== undefined)
    span.setAttributes({
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
    })
  if (outcome === 'failed') fail(span, 'the work failed')
  else succeed(span)
  return true
}

function succeed(span: Span): void {
  span.setStatus({ code: OK })
  span.end()
}

function fail(span: Span, message: string): void {
  span.setStatus({ code: ERROR, message })
  span.end()
}
