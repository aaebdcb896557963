/**
 * dsh-llm-scripted: a model route on `ctx.llm` that plays a script, for demos and tests, and the service
 * `ctx.llmScripted` that tells what was asked of it.
 *
 * Owns the row: its settings, the registration of the adapter, what is logged. What a script means is in
 * `types.ts`.
 */
import type { Context } from '@deepseek-ai/cordis'
import z from '@deepseek-ai/schemastery'
import { mountOnce } from '@dsh-graph/plugin-mount'
import { describeUnused, type ScriptReport } from './report.ts'
import { loadScript } from './script-file.ts'
import { ScriptedLlm } from './scripted-llm.ts'

export {
  ScriptedLlmError,
  type ScriptedLlmErrorCode,
  type ScriptProblem,
  type ScriptRefusalCode,
} from './errors.ts'
export type { ConversationReport, ScriptReport, UnexpectedRequest, UnusedStep } from './report.ts'
export { parseScript } from './script.ts'
export { ScriptedLlm, scriptedAdapter, type ScriptedLlmOptions } from './scripted-llm.ts'
export type {
  CaptureOrigin,
  CaptureSource,
  FaultSource,
  MatchSource,
  PatternSource,
  PatternsSource,
  RequestPurpose,
  Script,
  ScriptSource,
  StepSource,
  ToolCallSource,
  TrackSource,
  WhenSource,
} from './types.ts'

/** The live script of the row, as `ctx.llmScripted`. */
export interface LlmScripted {
  /** What was asked so far. */
  report(): ScriptReport
  /** @throws ScriptedLlmError `unexpected-requests`, or else `unused-steps`, naming them. */
  assertExhausted(): void
}

declare module '@deepseek-ai/cordis' {
  interface Context {
    llmScripted: LlmScripted
  }
}

export const name = 'llm-scripted'
export const inject = ['llm']

export interface Config {
  /** Key of the model route. Default `scripted`. */
  readonly provider: string
  /** The script as YAML text. Without it and `file` the script is empty. */
  readonly script?: string
  /** Path of a YAML file, relative to the working directory. */
  readonly file?: string
  /** Whether an unexpected request is logged as an error, too. Default `true`. */
  readonly strict: boolean
  /** Whether steps that were never played are logged as an error when the row goes. Default `false`. */
  readonly failOnUnused: boolean
}

export const Config: z<Config> = z.object({
  provider: z.string().default('scripted').description('Key of the model route.'),
  script: z.string().description('The script as YAML text.'),
  file: z.string().description('Path of a YAML file, relative to the working directory.'),
  strict: z.boolean().default(true).description('Log an unexpected request as an error, too.'),
  failOnUnused: z.boolean().default(false).description('Log unused steps as an error at the end.'),
})

/** @throws ScriptedLlmError when the script cannot be read or is none; the row then fails. */
export async function apply(ctx: Context, config: Config): Promise<void> {
  await mountOnce(ctx, 'dsh-llm-scripted', ['llm'], async (live) => {
    const logger = live.logger('dsh-llm-scripted')
    const llm = new ScriptedLlm(await loadScript(config), {
      onUnexpected: ({ message }) => {
        if (config.strict) logger.error('%s', message)
      },
    })
    live.effect(
      () => () => {
        llm.close()
        const { unusedSteps } = llm.report()
        if (config.failOnUnused && unusedSteps.length > 0) logger.error('%s', describeUnused(unusedSteps))
      },
      'streams of the scripted model',
    )
    live.llm.registerAdapter([config.provider], llm)
    live.provide('llmScripted', {
      report: () => llm.report(),
      assertExhausted: () => llm.assertExhausted(),
    } satisfies LlmScripted)
  })
}
