/**
 * What a call may use of the host it runs in: a person to ask, listeners to tell, a log. All of it is
 * optional and looked up at the time of use, so that a graph works in a profile that has none of it.
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Person } from './person.ts'
import { progressTeller, type TellProgress } from './progress.ts'
import type { CallingAgent, GraphCall } from './types.ts'

export interface CallServices {
  /** DSH's way to a person, if a plugin provides one. */
  person(): Person | undefined
  /** Tells listeners how a call of the graph gets on; `undefined` when nobody listens. */
  progress(graph: string, call: GraphCall): TellProgress | undefined
  warn(text: string): void
}

function isPerson(value: unknown): value is Person {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, 'ask') === 'function'
}

/** The services that a context reaches. */
export function servicesOf(ctx: Context): CallServices {
  return {
    person() {
      const service: unknown = ctx.get('userQuestions')
      return isPerson(service) ? service : undefined
    },
    progress: (graph, call) => progressTeller(ctx, graph, call),
    warn: (text) => ctx.logger('graph-runtime').warn('%s', text),
  }
}

/** Those of the calling agent, for a graph that was converted without a context. */
export function agentServices(agent: CallingAgent | undefined): CallServices | undefined {
  return agent === undefined ? undefined : servicesOf(agent.ctx)
}
