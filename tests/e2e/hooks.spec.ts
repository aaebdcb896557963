/**
 * Hooks in the real `dsh`, in a headless profile, whose one turn begins as soon as the boot has settled
 * and whose process ends with it: those of a plugin row, and those of a directory in the home.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readHookFolder } from '../../packages/agent-loop/src/hooks/hook-folder.ts'
import type { DshBench } from '../support/dsh-process.ts'
import { raiseStage, type Stage } from '../support/stage.ts'

const HOOKS = [
  'gateway_start',
  'session_start',
  'message_received',
  'before_model_resolve',
  'before_prompt_build',
  'before_tool_call',
  'tool_result_persist',
  'after_tool_call',
  'agent_end',
  'message_sending',
  'message_sent',
  'session_end',
  'gateway_stop',
]

let stage: Stage
let bench: DshBench
let home: string

beforeAll(async () => {
  stage = await raiseStage()
  bench = stage.bench()
  home = join(bench.profileDir('headless'), '..', '..')
  await bench.plugin('headless', 'add', stage.package('dsh-durable-log').tarball)
  await bench.plugin('headless', 'add', stage.package('dsh-agent-loop-host').tarball)
})

afterAll(() => stage?.[Symbol.asyncDispose]())

/** Writes a plugin that notes each hook in a file, and a directory hook that is slow and adds context. */
async function layOutHooks(file: string): Promise<string> {
  const plugin = join(home, 'listener.mjs')
  const path = JSON.stringify(file)
  writeFileSync(
    plugin,
    `import { appendFileSync } from 'node:fs'
export const name = 'listener'
export function apply(ctx) {
  ctx.inject(['agentLoopHost'], ({ agentLoopHost }) => {
    for (const hook of ${JSON.stringify(HOOKS)})
      agentLoopHost.hook(hook, () => void appendFileSync(${path}, hook + '\\n'))
  })
}`,
  )
  const folder = join(home, 'graph', 'hooks', 'slow')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'HOOK.md'),
    '---\nname: slow\nevents: [before_prompt_build, session_end]\npriority: -1\n---\n',
  )
  writeFileSync(
    join(folder, 'handler.mjs'),
    `import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
export default async (event, { hook, plugin }) => {
  await setTimeout(100)
  appendFileSync(${path}, hook + ' of ' + plugin + '\\n')
  if (hook === 'before_prompt_build') return { prependContext: 'A word from a folder.' }
}`,
  )
  const { pin } = await readHookFolder(join(home, 'graph', 'hooks'), 'slow')
  const patch = join(home, 'hooks.patch.yml')
  writeFileSync(
    patch,
    `- insert:
    - id: listener
      name: ${JSON.stringify(plugin)}
- id: agent-loop-host
  config: { hooks: { directories: { slow: ${pin} } } }
`,
  )
  return patch
}

it('hears everything, in order, from before the first turn to after the last', async () => {
  const file = join(home, 'heard.txt')
  const patch = await layOutHooks(file)
  stage.llm.play(({ toolNames, answeredCall }) => {
    if (toolNames.length === 0) return { text: 'A title' }
    if (answeredCall !== undefined) return { text: 'Noted.' }
    return { toolCalls: [{ name: 'todo_write', arguments: { todos: [] } }] }
  })
  const finished = await bench.run('--profile', 'headless', '--patch', patch, 'Note something.')
  expect(stage.llm.failures).toEqual([])
  expect(finished).toMatchObject({ code: 0, stderr: '', stdout: 'Noted.\n' })
  const heard = readFileSync(file, 'utf8').trim().split('\n')
  expect(heard.filter((line) => !line.includes(' of '))).toEqual(HOOKS)
  expect(heard).toContain('before_prompt_build of directory:slow')
  // The slow one is waited for before the last hook.
  expect(heard.slice(-2)).toEqual(['session_end of directory:slow', 'gateway_stop'])
  expect(JSON.stringify(stage.llm.requests[0]?.body.messages)).toContain('A word from a folder.')
})
