import type { GraphControl } from './types.ts'

export { GraphControlError, type GraphControlErrorCode } from './errors.ts'
export * from './types.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    graphControl: GraphControl
  }
}
