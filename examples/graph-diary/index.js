import { appendFileSync } from 'node:fs'
import { dshHomePath } from '@deepseek-ai/dsh-home-paths'

export const name = 'graph-diary'

/** @param {import('@deepseek-ai/cordis').Context} ctx */
export function apply(ctx) {
  /** @param {string} line */
  const note = (line) => appendFileSync(dshHomePath('graph-diary.txt'), `${line}\n`)

  // After each commit to a graph that this process serves.
  ctx.on('graph/change', ({ graphId, seq }) => note(`graph ${graphId} is at ${seq}`))

  // The service may come later, or go and come back: inject waits for it each time.
  ctx.inject(['agentLoopHost'], ({ agentLoopHost }) => {
    agentLoopHost.hook('agent_end', ({ isSubagent, success, turn }) =>
      note(`${isSubagent ? 'an operator' : 'the root'} ended turn ${turn} ${success ? 'well' : 'badly'}`),
    )
    agentLoopHost.hook('before_tool_call', ({ params, toolName }) =>
      toolName === 'bash' && String(Object(params).command).includes('sudo')
        ? { block: true, blockReason: 'no sudo in this house' }
        : undefined,
    )
  })
}
