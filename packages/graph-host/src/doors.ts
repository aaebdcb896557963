/**
 * The doors of a host for those who watch it: the `/graph` command, the loopback door of the shell
 * commands, spans.
 *
 * Owns: what is opened, for as long as `ctx` lives. Does not own: what a person may do (person-acts).
 */
import type { Context } from '@deepseek-ai/cordis'
import { agentOperations, doorToken, type AgentLoopHost } from 'dsh-agent-loop-host'
import type { GraphControl } from 'dsh-graph-control'
import { registerGraphCommand } from './command.ts'
import type { Config } from './config.ts'
import { hostReport } from './doctor/host-report.ts'
import { RecentErrors } from './doctor/recent-errors.ts'
import { versionsFound } from './doctor/versions.ts'
import { agentDoor } from './door/agent-door.ts'
import { hostOperations } from './door/host-operations.ts'
import { runFolder } from './door/run-file.ts'
import { serveDoor } from './door/serve-door.ts'
import { graphHome } from './graph-home.ts'
import { laneWaitOf } from './lane-wait.ts'
import { traceGraphs } from './spans.ts'

export interface DoorsDeps {
  readonly ctx: Context
  readonly config: Config
  readonly store: GraphControl
  readonly loop: AgentLoopHost
  readonly drives: (rootSessionId: string) => boolean
}

export function openDoors({ config, ctx, drives, loop, store }: DoorsDeps): void {
  traceGraphs({ ctx, store, drives })
  const errors = new RecentErrors(ctx)
  const doctor = () => hostReport({ ctx, config, store, errors })
  const slots = () => config.maxNewActivations
  const runWait = (sessionId: string) => laneWaitOf(loop, sessionId)
  registerGraphCommand({ ctx, store, slots, runWait, doctor })
  if (!config.door) return
  const operations = {
    ...agentDoor(agentOperations(loop)),
    ...hostOperations({ ctx, store, loop, slots, doctor }),
  }
  serveDoor({
    ctx,
    token: doorToken(ctx),
    folder: runFolder(graphHome()),
    version: versionsFound()['dsh-graph-host'] ?? '',
    operations,
  })
}
