/**
 * Puts the feed on DSH's web server where there is one: the socket with the live picture and the
 * calls beside it. Everything ends with the context.
 */
import type { Context } from '@deepseek-ai/cordis'
import { SessionId } from '@deepseek-ai/dsh-session'
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { DurableLog } from 'dsh-durable-log'
import { GRAPH_PREFIX, ROOT_PREFIX, type GraphControl } from 'dsh-graph-control'
import { isRootAgent, supervises, switchSupervision } from 'dsh-tool-graph'
import { CodeRuns } from './code-runs.ts'
import { FeedDesk } from './feed-calls.ts'
import { FeedSocket } from './feed-socket.ts'
import type { CodeGraphs, Connection, RpcAnswer, WebServer } from './host-services.ts'
import { Tickets } from './same-origin.ts'
import { SupervisedSessions } from './supervised-sessions.ts'
import { laneWaits } from '../lane-wait.ts'
import type { Standing } from './work-card.ts'
import type { FeedPath } from './wire.ts'

const CHANNEL = '/dsh-graph-host'
// The RPC channel owns the path below its name; the longer, exact path is the socket's.
const SOCKET: FeedPath = '/dsh-graph-host/feed'

export interface FeedDeps {
  readonly store: GraphControl
  readonly loop: AgentLoopHost
  /** Works of one graph that may be under way. */
  readonly slots: () => number
}

export function serveFeed(ctx: Context, { loop, slots, store }: FeedDeps): void {
  const standing = (): Standing => ({ slots: slots(), laneWait: laneWaits(loop) })
  ctx.inject(['webServer', 'connection'], (web) => {
    const server = web.get('webServer') as unknown as WebServer
    const tickets = new Tickets()
    const supervisionOf = (sessionId: string): boolean | undefined => {
      const agent = ctx.agents.get(SessionId(sessionId))
      return agent === undefined || !isRootAgent(agent) ? undefined : supervises(agent)
    }
    const desk = new FeedDesk({
      store,
      tickets,
      standing,
      supervision: {
        of: supervisionOf,
        set: (sessionId, supervised) => switchSupervision(ctx, sessionId, supervised),
      },
      codeGraphs: () => ctx.get('graphTools') as CodeGraphs | undefined,
    })
    const runs = new CodeRuns(web)
    const supervised = new SupervisedSessions(web, supervisionOf)
    const socket = new FeedSocket({ store, tickets, runs, supervised, standing })
    const log = ctx.get('durableLog') as DurableLog | undefined
    if (log !== undefined) {
      // The store tells of graphs that it has in memory; another process may open one.
      web.effect(
        () =>
          log.subscribe(ROOT_PREFIX, ({ stream }) => socket.epochsMoved(stream.slice(ROOT_PREFIX.length))),
        'epochs of the graphs that pages look at',
      )
      web.effect(
        () =>
          log.subscribe(GRAPH_PREFIX, ({ stream }) => socket.graphMoved(stream.slice(GRAPH_PREFIX.length))),
        'entries of the graphs that pages look at',
      )
    }
    web.effect(() => loop.watchLanes(() => socket.lanesMoved()), 'lanes that operators wait for')
    web.effect(
      () => () => {
        socket.close()
        runs.close()
        supervised.close()
      },
      'graph feed',
    )
    web.effect(
      () =>
        server.registerUpgrade({
          path: SOCKET,
          handler: (request, raw, head) => socket.upgrade(request, raw, head),
        }),
      'graph feed socket',
    )
    const { connection } = web as unknown as { connection: Connection }
    connection.rpc.handle(CHANNEL, (endpoint, payload) => answered(desk, endpoint, payload), {
      authority: 'trusted-host',
    })
  })
}

async function answered(desk: FeedDesk, endpoint: string, payload: unknown): Promise<RpcAnswer> {
  try {
    return { ok: true, value: await desk.answer(endpoint, payload) }
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    return {
      ok: false,
      error: {
        code: 'bad-request',
        message: typeof message === 'string' ? message : `refused: ${String(code)}`,
        details: { issues: [] },
      },
    }
  }
}
