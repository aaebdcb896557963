/** What the package shows of its hooks. */
export { CATALOGUE, type HookKind, type HookScope, type HookSpec } from './catalogue.ts'
export { MERGE_RULES, type MergeRule } from './merge.ts'
export type {
  AttemptFacts,
  BootstrapFile,
  CommandEvent,
  CommandHookName,
  FailMode,
  HookAnswer,
  HookContext,
  HookEvent,
  HookEvents,
  HookHandler,
  HookName,
  HookOptions,
  HookResults,
  MessageVerdict,
  ModelChoice,
  OutgoingMessage,
  PromptAddition,
  RunFacts,
  SessionEndReason,
  SessionFacts,
  ToolCallFacts,
  ToolCallVerdict,
  ToolResultView,
} from './types.ts'
