/**
 * The row in compositions that the real Cordis loader boots, with the built package, over the wire to a
 * model. Plugins mounted by hand would hide what a loader does to them.
 */
import { join } from 'node:path'
import { loadOverlayPatches } from '@deepseek-ai/dsh-app-boot'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  Composition,
  ROOT,
  row,
  standaloneRows,
  type CompositionOptions,
} from '../../../tests/support/composition.ts'
import { echoBuilder, topicOnly } from './graphs.ts'
import { define } from './host.ts'

const NAME = 'dsh-graph-runtime'
const hostRows = standaloneRows().filter(({ name }) => name.startsWith('@deepseek-ai/'))
const byHand = row('graph-runtime', NAME)
const patches = () => loadOverlayPatches('test', join(ROOT, 'packages/graph-runtime/cordis.patch.yml'))

async function boot(options: CompositionOptions): Promise<Composition> {
  const composition = await Composition.boot({
    ...options,
    respond: ({ body }) =>
      body.messages.at(-1)?.role === 'user'
        ? { toolCalls: [{ name: 'wired_echo', arguments: { topic: 'moss' } }] }
        : { text: 'Done.' },
  })
  onTestFinished(() => composition[Symbol.asyncDispose]())
  return composition
}

/** What a model is offered and told in a session that calls the tool. */
async function session(composition: Composition) {
  const agent = await composition.openSession({ id: 'wired' })
  await composition.say(agent, 'Echo moss.')
  expect(composition.llm.failures).toEqual([])
  const [first, second] = composition.llm.requests
  return {
    offered: first?.toolNames.filter((name) => name === 'wired_echo'),
    told: second?.body.messages.at(-1)?.content,
  }
}

const RESULT = JSON.stringify({ topic: 'moss', log: ['seen:moss'] }, null, 2)

describe('the row', () => {
  it.each<[string, () => CompositionOptions]>([
    ['written by hand (R3)', () => ({ rows: [...hostRows, byHand] })],
    ['from the patch of the bundle (R2)', () => ({ rows: hostRows, patches: patches() })],
  ])('%s offers each published tool to the default agent and runs it (R75) (R88)', async (_, options) => {
    define({ name: 'wired_echo', build: echoBuilder, parameters: topicOnly, asTool: true })
    const composition = await boot(options())
    expect(composition.unfinishedRows()).toEqual([])
    expect(await session(composition)).toEqual({ offered: ['wired_echo'], told: RESULT })
    expect(composition.linesOf(NAME, 'warn')).toEqual([])
  })

  it('from both is live once, without a warning (R4)', async () => {
    define({ name: 'wired_echo', build: echoBuilder, parameters: topicOnly, asTool: true })
    const composition = await boot({ rows: [...hostRows, row('by-hand', NAME)], patches: patches() })
    expect(composition.unfinishedRows()).toEqual([])
    expect(await session(composition)).toEqual({ offered: ['wired_echo'], told: RESULT })
    expect(composition.linesOf(NAME, 'info')).toEqual([expect.stringContaining('stands by')])
    expect(composition.logs.filter(({ type }) => type === 'warn' || type === 'error')).toEqual([])
  })
})
