/** Where this bundle keeps its own files in the DSH home. */
import { dshHomePath } from '@deepseek-ai/dsh-home-paths'

export function graphHome(): string {
  return dshHomePath('graph')
}
