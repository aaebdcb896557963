/** What a shell may ask a running host to do. Every argument is checked here: the caller may be anybody. */
import { readFile } from 'node:fs/promises'
import type { Context } from '@deepseek-ai/cordis'
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { GraphControl } from 'dsh-graph-control'
import { switchSupervision } from 'dsh-tool-graph'
import { maskReport, type DoctorReport } from '../doctor/report.ts'
import { GraphHostError } from '../errors.ts'
import { PersonActs } from '../person-acts.ts'
import type { DoorOperations } from './door-server.ts'
import { standingOf } from './standing.ts'
import { lookOperation } from './look-operation.ts'

export interface HostOperationsDeps {
  readonly ctx: Context
  readonly store: GraphControl
  readonly loop: Pick<AgentLoopHost, 'drain' | 'lanes' | 'metrics'>
  /** Works of one graph that may be under way. */
  readonly slots: () => number
  readonly doctor: () => Promise<DoctorReport>
}

const LONGEST_DRAIN_MS = 3_600_000

/** The part of `ctx.agentPresets` that is used here. */
interface Presets {
  resolve(id: string): Promise<{ readonly path: string }>
}

type Arguments = Readonly<Record<string, unknown>>

export function hostOperations({ ctx, doctor, loop, slots, store }: HostOperationsDeps): DoorOperations {
  const acts = new PersonActs(store)
  const standing = () => standingOf(loop, slots())
  const act =
    (verb: 'stop' | 'retry' | 'confirm') =>
    async (args: Arguments): Promise<{ readonly text: string }> => {
      const reason = textIn(args, 'reason', true)
      const words = reason === undefined ? [] : ([reason] as const)
      return { text: await acts[verb](textIn(args, 'graphId'), textIn(args, 'target'), ...words) }
    }
  return {
    stop: act('stop'),
    retry: act('retry'),
    confirm: act('confirm'),
    supervise: async (args) => {
      const { supervised } = args
      if (typeof supervised !== 'boolean') throw refused('supervised must be true or false')
      const sessionId = textIn(args, 'sessionId')
      await switchSupervision(ctx, sessionId, supervised)
      return { text: `supervision of ${sessionId} is ${supervised ? 'on' : 'off'}` }
    },
    drain: async (args) => {
      const { limitMs } = args
      const most =
        Number.isSafeInteger(limitMs) && Number(limitMs) >= 0 && Number(limitMs) <= LONGEST_DRAIN_MS
      if (!most) throw refused(`limitMs must be a whole number from 0 to ${LONGEST_DRAIN_MS}`)
      return loop.drain({ limitMs: Number(limitMs) })
    },
    standing: async () => standing(),
    look: lookOperation({ ctx, store, standing }),
    doctor: async () => maskReport(await doctor()),
    'preset-text': async (args) => {
      const presets = ctx.get('agentPresets') as unknown as Presets | undefined
      if (presets === undefined) throw refused('this profile has no presets')
      const { path } = await presets.resolve(textIn(args, 'id'))
      return { text: await readFile(path, 'utf8') }
    },
  }
}

function textIn(args: Arguments, name: string): string
function textIn(args: Arguments, name: string, isOptional: true): string | undefined
function textIn(args: Arguments, name: string, isOptional = false): string | undefined {
  const value = args[name]
  if (value === undefined && isOptional) return undefined
  if (typeof value === 'string' && value !== '' && value.length <= 4_000) return value
  throw refused(`${name} must be a text of 1 to 4,000 characters`)
}

function refused(message: string): GraphHostError {
  return new GraphHostError('invalid-request', message)
}
