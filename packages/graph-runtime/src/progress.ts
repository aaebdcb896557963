/**
 * Tells listeners how a run gets on: when it and each of its nodes begin and end, and what nodes write
 * to LangGraph's `writer`. Whoever listens only watches: what a listener throws is logged and changes
 * nothing. Where the news come from is not this file's matter.
 */
import { randomUUID } from 'node:crypto'
import type { Context } from '@deepseek-ai/cordis'
import { scopeTarget, type Scoped } from '@deepseek-ai/dsh-scope'
import { messageOf } from './errors.ts'
import type { CallingAgent, GraphCall } from './types.ts'

/** News of one run. Frozen. */
export interface GraphProgress {
  /** Name of the graph. */
  readonly tool: string
  /** Id of the run, the same for all its news. */
  readonly run: string
  /**
   * `start`, then `end` or `error`; `interrupt` when it waits for an answer; `custom` for what a node
   * wrote itself. A run that was interrupted and goes on starts its open nodes anew. When a run fails or is
   * aborted, nodes that ran beside the failed one may never be heard of again.
   */
  readonly phase: 'start' | 'end' | 'error' | 'interrupt' | 'custom'
  /** The node; absent when the run as a whole begins or ends, and for `custom`. */
  readonly node?: string
  /** Text of the failure, for `error`. */
  readonly error?: string
  /** What the node wrote, for `custom`; as it wrote it. */
  readonly custom?: unknown
  /** The tool call it belongs to, if there is one. */
  readonly callId?: string
  /** The calling agent, if there is one. */
  readonly agent?: CallingAgent
}

declare module '@deepseek-ai/cordis' {
  interface Events {
    /**
     * A run or one of its nodes began, ended, or wrote something. A listener of an agent's context
     * hears of that agent's calls only. Listener failures are contained. While nobody listens, graphs
     * run without being watched.
     *
     * @mode emit
     */
    'graphTools/progress'(this: Scoped<Context>, progress: GraphProgress): void
  }
}

/** One piece of news, without what is the same for the whole run. */
export type ProgressStep = Pick<GraphProgress, 'phase' | 'node' | 'error' | 'custom'>

export type TellProgress = (step: ProgressStep) => void

const EVENT = 'graphTools/progress'

/**
 * Tells that a run begins, and gives the way to tell more.
 *
 * @returns `undefined` when nobody listened.
 */
export function progressTeller(ctx: Context, graph: string, call: GraphCall): TellProgress | undefined {
  const { agent, callId } = call
  const same = {
    tool: graph,
    run: randomUUID(),
    ...(callId === undefined ? {} : { callId }),
    ...(agent === undefined ? {} : { agent }),
  }
  const tell = (step: ProgressStep): number => {
    const progress: GraphProgress = Object.freeze({ ...same, ...step })
    const listeners = ctx.events.dispatch('emit', [scopeTarget(ctx, agent), EVENT, progress])
    for (const listener of listeners) contained(ctx, () => listener(progress) as unknown)
    return listeners.length
  }
  return tell({ phase: 'start' }) > 0 ? (step) => void tell(step) : undefined
}

function contained(ctx: Context, listen: () => unknown): void {
  const complain = (error: unknown): void =>
    ctx.logger('graph-runtime').warn('%s', `a listener of ${EVENT} failed: ${messageOf(error)}`)
  try {
    Promise.resolve(listen()).catch(complain)
  } catch (error) {
    complain(error)
  }
}
