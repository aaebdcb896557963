import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { ReasoningEffortId } from '@deepseek-ai/dsh-llm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import manifest from '../package.json' with { type: 'json' }
import * as scripted from '../src/index.ts'
import { ask, openLlm, openRoot } from './host.ts'

const HELLO = 'tracks: [{ name: main, match: {}, steps: [{ text: hello }] }]'

function row(ctx: Context, config: Partial<scripted.Config> = {}) {
  return ctx.plugin(scripted, config as scripted.Config)
}

async function scriptFile(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'llm-scripted-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'demo.yml')
  await writeFile(file, text)
  return file
}

describe('the row', () => {
  it('boots without configuration and answers every request with one fault', async () => {
    const { ctx, log } = await openLlm()
    await row(ctx)
    const { failure, finish } = await ask(ctx, { sessionId: 's' })
    expect(finish.kind).toBe('error')
    expect(failure?.code).toBe('SCRIPT_UNEXPECTED_REQUEST')
    expect(failure?.message).toMatch(/the script is empty/)
    expect(ctx.get('llmScripted')?.report()).toMatchObject({ requests: 1, unexpectedCount: 1 })
    expect(log.filter(({ type }) => type === 'error')).toHaveLength(1)
  })

  it('keeps the log quiet when it is not strict', async () => {
    const { ctx, log } = await openLlm()
    await row(ctx, { strict: false })
    expect((await ask(ctx, {})).failure?.code).toBe('SCRIPT_UNEXPECTED_REQUEST')
    expect(log.filter(({ type }) => type === 'error')).toEqual([])
  })

  it('plays a script from its configuration, on a route of its own', async () => {
    const { ctx } = await openLlm()
    await row(ctx, { script: HELLO, provider: 'demo' })
    expect((await ask(ctx, { provider: 'demo' })).text).toBe('hello')
    expect((await ask(ctx, { provider: 'scripted' })).failure?.code).toBe('NO_ADAPTER')
  })

  it('plays a file, given relative to the working directory', async () => {
    const { ctx } = await openLlm()
    await row(ctx, { file: relative(process.cwd(), await scriptFile(`\uFEFF${HELLO}`)) })
    expect((await ask(ctx, {})).text).toBe('hello')
    ctx.get('llmScripted')?.assertExhausted()
  })

  it('fails with the file, the path and the line of a bad script', async () => {
    const { ctx } = await openLlm()
    const file = await scriptFile('tracks:\n  - name: main\n    match: {}\n    steps: [{ say: hello }]\n')
    await expect(row(ctx, { file })).rejects.toThrow(
      `the script ${file} has 2 problems: tracks[0].steps[0].say (line 4): unknown key "say"`,
    )
    expect((await ask(ctx, {})).failure?.code).toBe('NO_ADAPTER')
    expect(ctx.get('llmScripted')).toBeUndefined()
  })

  it('fails with the file that is not there', async () => {
    const { ctx } = await openLlm()
    await expect(row(ctx, { file: 'no/such.yml' })).rejects.toThrow(
      expect.objectContaining({
        code: 'unreadable-script',
        message: expect.stringMatching(/no\/such\.yml .*ENOENT/) as string,
      }),
    )
  })

  it('refuses a script and a file at once', async () => {
    const { ctx } = await openLlm()
    await expect(row(ctx, { file: 'a.yml', script: HELLO })).rejects.toThrow(
      expect.objectContaining({ code: 'invalid-config' }),
    )
  })

  it('refuses settings of the wrong kind', async () => {
    const { ctx } = await openLlm()
    await expect(row(ctx, { strict: 'yes' as unknown as boolean })).rejects.toThrow(/strict/)
  })

  it('waits for the model service', async () => {
    const { ctx } = openRoot()
    const pending = row(ctx, { script: HELLO })
    expect(ctx.get('llmScripted')).toBeUndefined()
    const { LlmRuntime } = await import('@deepseek-ai/dsh-llm')
    await ctx.plugin(LlmRuntime)
    await pending
    expect((await ask(ctx, {})).text).toBe('hello')
  })

  it('stands by when another row is live, and takes over after it', async () => {
    const { ctx } = await openLlm()
    const first = await row(ctx, { script: HELLO })
    await row(ctx, { script: HELLO.replace('hello', 'second') })
    expect((await ask(ctx, {})).text).toBe('hello')
    await first.dispose()
    expect((await ask(ctx, {})).text).toBe('second')
  })

  it('takes its route and its service away, and ends what waits', async () => {
    const { ctx } = await openLlm()
    const fiber = await row(ctx, {
      script: 'tracks: [{ name: a, match: {}, steps: [{ fault: { hang: true } }] }]',
    })
    const waiting = ask(ctx, {})
    await expect.poll(() => ctx.get('llmScripted')?.report().requests).toBe(1)
    await fiber.dispose()
    expect((await waiting).failure?.code).toBe('ABORTED')
    expect(ctx.get('llmScripted')).toBeUndefined()
    expect(ctx.get('llm')?.listProviders()).toEqual([])
  })

  it.each([
    [true, ['1 step of the script never played: track "main" step 0']],
    [false, []],
  ])('logs unused steps at its end when failOnUnused is %s', async (failOnUnused, errors) => {
    const { ctx, log } = await openLlm()
    const fiber = await row(ctx, { script: HELLO, failOnUnused })
    await fiber.dispose()
    expect(log.filter(({ type }) => type === 'error').map(({ text }) => text.replace('%s ', ''))).toEqual(
      errors,
    )
  })
})

describe('the route', () => {
  it('is listed with a model, and takes any other model and effort', async () => {
    const { ctx } = await openLlm()
    await row(ctx, { script: HELLO })
    const llm = ctx.get('llm')
    expect(llm?.listProviders()).toEqual([{ id: 'scripted', name: 'Scripted' }])
    expect(await llm?.listModels('scripted')).toMatchObject([{ provider: 'scripted', id: 'script' }])
    expect(await llm?.resolveModelInfo('scripted', 'made-up')).toMatchObject({
      id: 'made-up',
      name: 'made-up',
    })
    const config = { provider: 'scripted', model: 'made-up', reasoningEffort: ReasoningEffortId('high') }
    expect((await llm?.prepareCall(config))?.config).toEqual(config)
    expect((await llm?.prepareCall({ provider: 'scripted', model: 'm' }))?.config).toEqual({
      provider: 'scripted',
      model: 'm',
    })
  })
})

describe('the package', () => {
  it('is a bundle with one row of its own name', async () => {
    const { readFile } = await import('node:fs/promises')
    const patch = await readFile(new URL(`../${manifest.dsh.bundle.patch}`, import.meta.url), 'utf8')
    expect(parse(patch)).toEqual([{ insert: [{ id: scripted.name, name: manifest.name }] }])
  })
})
