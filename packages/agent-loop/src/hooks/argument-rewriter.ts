/**
 * Puts other arguments into a tool call. The session log keeps those of the model, so what ran instead is
 * recorded before it runs: one entry in the stream `hook/<sessionId>` with the digests of both.
 */
import { createHash } from 'node:crypto'
import type { Context } from '@deepseek-ai/cordis'
import { deepFreeze } from '@deepseek-ai/dsh-llm'
import { snapshotJsonValue } from '@deepseek-ai/dsh-session'
import type { ToolExecution } from '@deepseek-ai/dsh-tools'
import type { DurableLog, JsonValue } from 'dsh-durable-log'
import { AgentLoopError } from '../errors.ts'
import { canonicalJson } from '../request.ts'
import type { ToolCallFacts } from './types.ts'

const STREAM_PREFIX = 'hook/'

/** SHA-256 over the canonical JSON of the arguments, 64 hexadecimal digits each. */
export interface Rewriting {
  readonly before: string
  readonly after: string
}

export class ArgumentRewriter {
  private readonly ctx: Context
  private readonly log: DurableLog

  constructor(ctx: Context, log: DurableLog) {
    this.ctx = ctx
    this.log = log
  }

  /**
   * @throws `hook-failed`, and the call must not run: the host keeps the arguments fixed, they are no
   *   JSON, they would make a call exclusive that already runs beside others, or the record failed.
   */
  async rewrite(
    exec: ToolExecution,
    params: unknown,
    plugins: readonly string[],
    { sessionId, turn, runId }: ToolCallFacts,
  ): Promise<Rewriting> {
    const value = snapshotJsonValue(params)
    if (value === undefined) throw refused(plugins, 'they are no lossless JSON')
    const rewriting = { before: digest(exec.arguments), after: digest(value) }
    this.assertSameMode(exec, value, plugins)
    await this.record(sessionId, plugins, {
      v: 1,
      callId: exec.callId,
      tool: exec.name,
      plugins: [...plugins],
      ...rewriting,
      ...(turn === undefined ? {} : { turn }),
      ...(runId === undefined ? {} : { runId }),
    })
    assign(exec, deepFreeze(value), plugins)
    return rewriting
  }

  /** How a call is scheduled was settled by the arguments of the model. */
  private assertSameMode(exec: ToolExecution, value: unknown, plugins: readonly string[]): void {
    const tools = this.ctx.get('tools') as Context['tools'] | undefined
    if (tools === undefined || tools.executionMode(exec).kind === 'exclusive') return
    if (tools.executionMode({ ...exec, arguments: value }).kind === 'parallel') return
    throw refused(plugins, 'with them the call may not run beside others, and it already does')
  }

  private async record(
    sessionId: string | undefined,
    plugins: readonly string[],
    data: JsonValue,
  ): Promise<void> {
    try {
      const stream = STREAM_PREFIX + (sessionId ?? 'no-session')
      await this.log.append(stream, 'any', [{ type: 'tool/rewritten', data }])
    } catch (error) {
      throw refused(plugins, `the change could not be recorded (${String(error)})`, error)
    }
  }
}

function assign(exec: ToolExecution, value: unknown, plugins: readonly string[]): void {
  const slot = exec as { arguments: unknown }
  try {
    slot.arguments = value
  } catch (error) {
    throw refused(plugins, 'this version of DSH keeps the arguments of a call fixed', error)
  }
  if (slot.arguments !== value) {
    throw refused(plugins, 'this version of DSH keeps the arguments of a call fixed')
  }
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

function refused(plugins: readonly string[], why: string, cause?: unknown): AgentLoopError {
  const names = plugins.map((plugin) => `"${plugin}"`).join(', ')
  return new AgentLoopError(
    'hook-failed',
    `hook before_tool_call of plugin ${names} may not change the arguments: ${why}`,
    cause === undefined ? undefined : { cause },
  )
}
