/**
 * dsh-graph-host: makes agent graphs run. It provides `agentGraphController` for every root
 * session, runs operators as child sessions through the agent-loop host, wakes roots, and takes up
 * open graphs when their root comes back.
 */
import type { Context } from '@deepseek-ai/cordis'
import { mountOnce, warnWhenMissing } from '@dsh-graph/plugin-mount'
import { AGENT_GRAPH_CONTROLLER_SERVICE } from 'dsh-tool-graph'
import { checkConfig, type Config } from './config.ts'
import { registerGraphsProjection } from './feed/graph-projection.ts'
import { serveFeed } from './feed/serve-feed.ts'
import { openDoors } from './doors.ts'
import { holdIdleRoots } from './hold-idle-root.ts'
import { serveHealth } from './health.ts'
import { personConfig } from './person-config.ts'
import { Roots } from './roots.ts'

export { Config, type OperatorKind } from './config.ts'
export { GraphHostError, type GraphHostErrorCode } from './errors.ts'
export type { GraphChange } from './events.ts'
export type { Confirmation } from './grants.ts'

export const name = 'graph-host'
export const inject = ['agents', 'sessions', 'tools']

const SIBLINGS = ['agentLoopHost', 'graphControl']

export async function apply(ctx: Context, config: Config): Promise<void> {
  checkConfig(config)
  warnWhenMissing(ctx, 'dsh-graph-host', SIBLINGS, 'no session can supervise an agent graph')
  await mountOnce(ctx, 'dsh-graph-host', [...inject, ...SIBLINGS], (live) => {
    // Also one that is still loading: two providers would fail the later row.
    if (live.get(AGENT_GRAPH_CONTROLLER_SERVICE, false) !== undefined) {
      live
        .logger('dsh-graph-host')
        .info(`another plugin provides ${AGENT_GRAPH_CONTROLLER_SERVICE}; this host stands down`)
      return
    }
    const holding = personConfig(live, config, () => roots.lookAgain())
    const roots = new Roots(live, holding, live.graphControl, live.agentLoopHost)
    roots.mount()
    holdIdleRoots({
      ctx: live,
      controllerOf: (sessionId) => roots.known(sessionId),
      enabled: () =>
        config.holdIdleRoot === 'always' ||
        (config.holdIdleRoot === 'auto' && live.get('webServer') === undefined),
    })
    live.provide(AGENT_GRAPH_CONTROLLER_SERVICE, roots)
    serveFeed(live, {
      store: live.graphControl,
      loop: live.agentLoopHost,
      slots: () => holding.maxNewActivations,
    })
    registerGraphsProjection(live)
    serveHealth(live, live.agentLoopHost)
    openDoors({
      ctx: live,
      config: holding,
      store: live.graphControl,
      loop: live.agentLoopHost,
      drives: (sessionId) => roots.drives(sessionId),
    })
  })
}
