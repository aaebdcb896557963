/** What a person sets in DSH's settings, while graphs run. */
import { describe, expect, it } from 'vitest'
import { SettingsService } from '../../../tests/support/settings-service.ts'
import { personConfig } from '../src/person-config.ts'
import { Config } from '../src/config.ts'
import { Host, settleDown } from './host.ts'

const gate = (workId: string) => ({ workId, instruction: `stand at gate ${workId}` })

async function withSettings(config: Partial<Config>): Promise<{ host: Host; settings: SettingsService }> {
  const host = await Host.boot({ config })
  const settings = new SettingsService(host.ctx)
  await settleDown()
  return { host, settings }
}

describe('what a person sets', () => {
  it('lets works begin that had no slot, without anything else happening', async () => {
    const { host, settings } = await withSettings({ maxNewActivations: 1 })
    const root = await host.root()
    await host.add(root, gate('a'), gate('b'), gate('c'))
    await host.gates.reached('a')
    await settleDown()
    expect(host.gates.arrivals).toEqual(['a'])
    settings.write('dsh-graph-host', { maxNewActivations: 2 })
    await host.gates.reached('b')
    await settleDown()
    expect(host.gates.arrivals).toEqual(['a', 'b'])
  })

  it('limits the tokens of a graph that the row does not limit', async () => {
    const { host, settings } = await withSettings({ limits: { tokensPerActivation: 80_000 } })
    const root = await host.root()
    settings.write('dsh-graph-host', { maxTokens: 100_000 })
    await host.add(root, gate('a'), gate('b'))
    await host.gates.reached('a')
    await settleDown()
    expect(host.gates.arrivals).toEqual(['a'])
    settings.write('dsh-graph-host', {})
    await host.gates.reached('b')
  })
})

describe('the configuration', () => {
  it('is that of the row in a profile without settings, in every field', async () => {
    const host = await Host.boot({ rows: [] })
    const configured = Config({ limits: { maxTokens: 7 } } as never)
    const holding = personConfig(host.ctx, configured, () => undefined)
    expect({ ...holding }).toEqual(configured)
  })
})
