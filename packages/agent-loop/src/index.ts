import type { AgentLoopHost } from './types.ts'

export { AgentLoopError, type AgentLoopErrorCode } from './errors.ts'
export * from './types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    agentLoopHost: AgentLoopHost
  }
}
