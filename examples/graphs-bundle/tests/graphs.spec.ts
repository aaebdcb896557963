import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Context, type Plugin } from '@deepseek-ai/cordis'
import { CallId } from '@deepseek-ai/dsh-llm'
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt'
import { ToolRuntime } from '@deepseek-ai/dsh-tools'
import * as graphRuntime from 'dsh-graph-runtime'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const folder = resolve(import.meta.dirname, '..')
const ctx = new Context()
const warnings: string[] = []

beforeAll(async () => {
  ctx.logger.exporter({ levels: { default: 2 }, export: ({ args }) => warnings.push(String(args.at(-1))) })
  const bundle = (await import(resolve(folder, 'index.js'))) as Plugin.Function
  await ctx.plugin(SystemPrompt, {})
  await ctx.plugin(ToolRuntime, {})
  await ctx.plugin(bundle)
  await ctx.plugin(graphRuntime, {})
})

afterAll(() => ctx.fiber.dispose())

/** Runs a tool through the whole DSH pipeline. */
async function call(name: string, args: unknown) {
  const { signal } = new AbortController()
  const result = await ctx
    .get('tools')
    ?.execute({ callId: CallId(randomUUID()), name, arguments: args, signal })
  if (result === undefined) throw new Error('no ctx.tools')
  return result
}

async function valueOf(name: string, args: unknown): Promise<Record<string, unknown>> {
  const result = await call(name, args)
  if (result.isError) throw new Error(result.error.message)
  return result.value as Record<string, unknown>
}

describe('the bundle', () => {
  it('has a row of its own, next to that of the runtime', () => {
    const patch: unknown = parse(readFileSync(resolve(folder, 'cordis.patch.yml'), 'utf8'))
    expect(patch).toEqual([{ insert: [{ id: 'graph-examples', name: 'dsh-graph-examples' }] }])
  })

  it('offers its three graphs as tools without a warning', () => {
    const names = ctx
      .get('tools')
      ?.schemas()
      .map((schema) => schema.name)
    expect(names).toEqual(['field_survey', 'triage', 'word_count'])
    expect(warnings).toEqual([])
  })

  it('uses the public door of the runtime only', () => {
    for (const file of ['field-survey.js', 'triage.js', 'word-count.js']) {
      const text = readFileSync(resolve(folder, 'graphs', file), 'utf8')
      const imported = Array.from(text.matchAll(/from '([^']+)'/g), (match) => match[1])
      expect(imported.filter((name) => name !== 'node:crypto')).toEqual([
        '@langchain/langgraph',
        'dsh-graph-runtime',
      ])
    }
  })
})

describe('field_survey', () => {
  it('reports on the topic under a nonce that each run draws anew', async () => {
    const [first, second] = [
      await valueOf('field_survey', { topic: 'moss' }),
      await valueOf('field_survey', { topic: 'moss' }),
    ]
    expect(first['nonce']).toMatch(/^[0-9a-f]{16}$/)
    expect(first['nonce']).not.toBe(second['nonce'])
    expect(first).toEqual({
      topic: 'moss',
      nonce: first['nonce'],
      findings: ['visited "moss"', `1 place seen for "moss", sealed with ${String(first['nonce'])}`],
    })
  })

  it('wants a topic', async () => {
    expect((await call('field_survey', {})).error?.info?.code).toBe('INVALID_ARGS')
    const blank = await call('field_survey', { topic: ' ' })
    expect(blank.error?.message).toBe(
      'graph "field_survey" refused the arguments: topic must say what to survey',
    )
  })
})

describe('word_count', () => {
  it.each([
    ['', 0, 0, 0, '0 words, 0 characters, 0 lines'],
    ['one', 1, 3, 1, '1 word, 3 characters, 1 line'],
    ['two words\r\nand a 🦊\n', 5, 19, 3, '5 words, 19 characters, 3 lines'],
  ])('counts %j', async (text, words, characters, lines, summary) => {
    expect(await valueOf('word_count', { text })).toEqual({ text, words, characters, lines, summary })
  })
})

describe('triage', () => {
  const route = async (body: string, severity: string) => {
    const { route: taken, reasons } = await valueOf('triage', { title: 'Login', body, severity })
    return [taken, reasons]
  }

  it('pages on-call for what cannot wait', async () => {
    expect(await route('Slow.', 'critical')).toEqual(['on-call', ['severity is critical', 'cannot wait']])
    expect(await route('A full OUTAGE.', 'low')).toEqual([
      'on-call',
      ['severity is low', 'mentions an outage', 'cannot wait'],
    ])
  })

  it('queues the rest, and sends an empty report back', async () => {
    expect(await route('Slow.', 'high')).toEqual(['queue', ['severity is high', 'can wait its turn']])
    expect(await route(' ', 'normal')).toEqual([
      'author',
      ['severity is normal', 'the report says nothing yet'],
    ])
  })

  it('knows four severities', async () => {
    const result = await call('triage', { title: 'x', body: 'y', severity: 'urgent' })
    expect(result.error?.message).toContain('"severity" must be one of ["low","normal","high","critical"]')
  })
})
