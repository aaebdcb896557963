/**
 * What a supervisor of processes and a load balancer ask, on DSH's web server where there is one:
 *
 *     GET /graph-host/health   200 while this process answers
 *     GET /graph-host/ready    200 while it takes work; 503 with the reasons while it does not
 *
 * Whoever reaches the server may ask, so an answer tells states and nothing else: no names, no paths,
 * no text of an error. Owns: the two routes and the look at the log behind them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from '@deepseek-ai/cordis'
import type { AgentLoopHost } from 'dsh-agent-loop-host'
import type { DurableLog } from 'dsh-durable-log'
import { textOfError } from './errors.ts'

export const HEALTH_PATH = '/graph-host/health'
export const READY_PATH = '/graph-host/ready'

/** Why a host takes no work now. */
export type Unready = 'draining' | 'log-away'

/** DSH's `ctx.webServer`, as far as it is used here. */
interface WebServer {
  register(route: {
    readonly kind: 'exact'
    readonly path: string
    readonly handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  }): () => void
}

export interface LogProbeOptions {
  /** A log that has not answered for so long is away. Default 2,000. */
  readonly patienceMs?: number
  /** An answer serves everyone who asks for so long. Default 1,000. */
  readonly keptMs?: number
  readonly now?: () => number
}

/** Whether the log answers. However many ask, it is asked once at a time. */
export class LogProbe {
  private readonly log: () => Pick<DurableLog, 'list'> | undefined
  private readonly patienceMs: number
  private readonly keptMs: number
  private readonly now: () => number
  private asking: Promise<boolean> | undefined
  private answered: { readonly at: number; readonly isThere: boolean } | undefined

  constructor(log: () => Pick<DurableLog, 'list'> | undefined, options: LogProbeOptions = {}) {
    this.log = log
    this.patienceMs = options.patienceMs ?? 2_000
    this.keptMs = options.keptMs ?? 1_000
    this.now = options.now ?? (() => performance.now())
  }

  async isThere(): Promise<boolean> {
    const { answered } = this
    if (answered !== undefined && this.now() - answered.at < this.keptMs) return answered.isThere
    const asking = (this.asking ??= this.ask())
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), this.patienceMs)
    })
    try {
      return await Promise.race([asking, late])
    } finally {
      clearTimeout(timer)
    }
  }

  private async ask(): Promise<boolean> {
    const isThere = await this.look()
    this.answered = { at: this.now(), isThere }
    this.asking = undefined
    return isThere
  }

  private async look(): Promise<boolean> {
    try {
      const log = this.log()
      await log?.list({ limit: 1 })
      return log !== undefined
    } catch {
      // Which error it was is in the log of this process, where others report it.
      return false
    }
  }
}

/** In the order of what to look at first; none: the host takes work. */
export async function unreadyReasons(
  loop: Pick<AgentLoopHost, 'isDraining'>,
  probe: LogProbe,
): Promise<readonly Unready[]> {
  const isLogThere = await probe.isThere()
  return [...(loop.isDraining() ? ['draining' as const] : []), ...(isLogThere ? [] : ['log-away' as const])]
}

/** Never fails: a host whose paths are taken is a host all the same, and says why. */
export function serveHealth(ctx: Context, loop: AgentLoopHost): void {
  const probe = new LogProbe(() => ctx.get('durableLog'))
  ctx.inject(['webServer'], (web) => {
    const server = web.get('webServer') as unknown as WebServer
    web.effect(() => {
      const undos: (() => void)[] = []
      try {
        undos.push(
          server.register({
            kind: 'exact',
            path: HEALTH_PATH,
            handler: async (request, response) => send(request, response, 200, { status: 'ok' }),
          }),
          server.register({
            kind: 'exact',
            path: READY_PATH,
            handler: async (request, response) => {
              const reasons = await unreadyReasons(loop, probe)
              const isReady = reasons.length === 0
              send(request, response, isReady ? 200 : 503, { ready: isReady, reasons })
            },
          }),
        )
      } catch (error) {
        web
          .logger('dsh-graph-host')
          .warn('%s', `there is no ${READY_PATH} in the web server: ${textOfError(error)}`)
      }
      return () => {
        for (const undo of undos) undo()
      }
    }, 'health of the graph host')
  })
}

function send({ method }: IncomingMessage, response: ServerResponse, status: number, body: object): void {
  const isLook = method === 'GET' || method === 'HEAD'
  response.writeHead(isLook ? status : 405, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...(isLook ? {} : { allow: 'GET, HEAD' }),
  })
  response.end(method === 'GET' ? JSON.stringify(body) : '')
}
