import { Context } from '@deepseek-ai/cordis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SettingsService } from '../../../tests/support/settings-service.ts'
import { personSettings } from '../src/index.ts'

interface Width {
  readonly width: number
}

const schema = (value: object): object => {
  if (typeof (value as Partial<Width>).width !== 'number') throw new TypeError('width must be a number')
  return value
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

let ctx: Context
let warnings: string[]
let changes: number

beforeEach(() => {
  ctx = new Context()
  warnings = []
  changes = 0
  ctx.logger.exporter({
    levels: { default: 3 },
    export: ({ type, args }) => {
      if (type === 'warn') warnings.push(args.join(' '))
    },
  })
})

afterEach(() => ctx.fiber.dispose())

async function mounted(): Promise<{ holds: () => Width; leave: () => Promise<void> }> {
  let holds: (() => Width) | undefined
  const fiber = ctx.plugin({
    name: 'user',
    inject: [],
    apply: (own: Context) => {
      const configured: Width = { width: 8 }
      const onChange = () => void (changes += 1)
      holds = personSettings(own, { namespace: 'a-plugin', schema, configured, onChange })
    },
  })
  await fiber
  await settled()
  if (holds === undefined) throw new Error('the plugin was not applied')
  return { holds, leave: async () => void (await fiber.dispose()) }
}

async function provided(stored: Readonly<Record<string, object>> = {}): Promise<SettingsService> {
  let service: SettingsService | undefined
  await ctx.plugin({
    name: 'settings',
    apply: (own: Context) => void (service = new SettingsService(own, stored)),
  })
  await settled()
  if (service === undefined) throw new Error('there is no service')
  return service
}

describe('settings of a person', () => {
  it('are what is configured where a profile has no settings', async () => {
    const { holds } = await mounted()
    expect(holds()).toEqual({ width: 8 })
  })

  it('hold from the moment they are written, and are told', async () => {
    const service = await provided()
    const { holds } = await mounted()
    changes = 0
    service.write('a-plugin', { width: 2 })
    expect([holds(), changes]).toEqual([{ width: 2 }, 1])
    expect(() => service.write('a-plugin', { width: 'wide' })).toThrow('width must be a number')
    expect(holds()).toEqual({ width: 2 })
  })

  it('hold also where the service comes after the plugin', async () => {
    const { holds } = await mounted()
    await provided({ 'a-plugin': { width: 3 } })
    expect([holds(), changes]).toEqual([{ width: 3 }, 1])
  })

  it('do not keep a plugin from starting when the document has what cannot be', async () => {
    await provided({ 'a-plugin': { width: 'wide' } })
    const { holds } = await mounted()
    expect(holds()).toEqual({ width: 8 })
    expect(warnings).toEqual([expect.stringContaining('settings of a-plugin are not used')])
  })

  it('end with the plugin', async () => {
    const service = await provided()
    const { leave } = await mounted()
    expect(service.namespaces).toEqual(['a-plugin'])
    await leave()
    expect(service.namespaces).toEqual([])
  })
})
