/** What a snippet of the documents may take as given, without an import of its own. */
import type { Context as CordisContext } from '@deepseek-ai/cordis'
import type { DurableLog } from 'dsh-durable-log'
import type { GraphExecutor, WakeSender } from 'dsh-tool-graph'
import '@deepseek-ai/dsh-llm'
import 'dsh-agent-loop-host'
import 'dsh-graph-control'
import 'dsh-graph-host'
import 'dsh-graph-runtime'

declare global {
  type Context = CordisContext
  const ctx: CordisContext
  const log: DurableLog
  /** A storage unit, or a log. */
  const unit: DurableLog
  const session: { readonly id: string }
  const sessionId: string
  const runId: string
  const executor: GraphExecutor
  const wakes: WakeSender
  /** A messenger. */
  const chat: { post(text: string): Promise<void> }
  function isRisky(params: unknown): boolean
}
