import { chmod, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { readHookFolder } from '../../src/hooks/hook-folder.ts'
import { settleDown } from '../support/until.ts'
import { temporaryFolder, typed } from '../support/world.ts'
import { bootHookWorld } from './support/hook-world.ts'

const HANDLER = `
import { basename } from 'node:path'
export default ({ prompt }, { plugin, signal }) => {
  if (signal.aborted) return
  return { prependContext: basename('/x/heard') + ' ' + prompt + ' by ' + plugin }
}
`

let home = ''
let root = ''

beforeEach(async () => {
  home = await temporaryFolder()
  root = join(home, 'graph', 'hooks')
  await mkdir(root, { recursive: true })
  const before = process.env['DSH_HOME']
  process.env['DSH_HOME'] = home
  onTestFinished(() => {
    if (before === undefined) delete process.env['DSH_HOME']
    else process.env['DSH_HOME'] = before
  })
})

interface Parts {
  readonly head?: string
  readonly handler?: string
  readonly at?: string
}

/** Writes a hook and tells its pin. */
async function writeHook(name: string, parts: Parts = {}): Promise<string> {
  const { at = root, handler = HANDLER } = parts
  const { head = `---\nname: ${name}\nevents: [before_prompt_build]\npriority: 5\n---\n# ${name}\n` } = parts
  await mkdir(join(at, name), { recursive: true, mode: 0o700 })
  await writeFile(join(at, name, 'HOOK.md'), head)
  await writeFile(join(at, name, 'handler.mjs'), handler)
  return (await readHookFolder(at, name)).pin
}

/** What the model was told in one turn, and what the log says. */
async function turnWith(directories: Record<string, string>) {
  const hooked = await bootHookWorld({ hooks: { directories } })
  // Once more, now that somebody reads the log.
  await hooked.world.unload()
  await hooked.world.mount()
  const agent = await hooked.createAgent('s')
  agent.followup(typed('hi'))
  await agent.whenIdle()
  await settleDown()
  const texts = agent.session.events.flatMap((event) =>
    event.type === 'user/message' ? [JSON.stringify(event.data.content)] : [],
  )
  return { texts, infos: hooked.infos, warnings: hooked.warnings }
}

describe('a directory hook', () => {
  it('is off until the profile names it with its pin, which the log tells', async () => {
    const pin = await writeHook('greeter')
    const off = await turnWith({})
    expect(off.texts).toHaveLength(1)
    expect(off.infos).toEqual([
      `directory hook "greeter" is off; hooks.directories.greeter: ${pin} turns it on`,
    ])
    const on = await turnWith({ greeter: pin })
    expect(on.texts[0]).toContain('heard hi by directory:greeter')
    expect(on.warnings).toEqual([])
  })

  it('is off again when a file of it has changed', async () => {
    const pin = await writeHook('greeter')
    const changed = await writeHook('greeter', { handler: `${HANDLER}\n// improved` })
    const { texts, warnings } = await turnWith({ greeter: pin })
    expect(texts).toHaveLength(1)
    expect(warnings).toEqual([
      `directory hook "greeter" is left out: its files are not the ones that were pinned; read them, their pin is ${changed}`,
    ])
  })

  it('has a pin over both files and where one ends', async () => {
    const pins = [
      await writeHook('a', { head: 'one', handler: 'two' }),
      await writeHook('a', { head: 'onet', handler: 'wo' }),
      await writeHook('a', { head: 'two', handler: 'one' }),
    ]
    expect(new Set(pins).size).toBe(3)
  })

  it('is never read from the workspace', async () => {
    const workspace = await temporaryFolder()
    const pins = [
      await writeHook('greeter', { at: join(workspace, 'graph', 'hooks') }),
      await writeHook('greeter', { at: join(workspace, '.dsh', 'graph', 'hooks') }),
      await writeHook('greeter', { at: join(workspace, 'hooks') }),
    ]
    const before = process.cwd
    process.cwd = () => workspace
    onTestFinished(() => void (process.cwd = before))
    const { texts, warnings } = await turnWith({ greeter: pins[0] ?? '' })
    expect(texts).toHaveLength(1)
    expect(warnings).toEqual([`directory hook "greeter" is on, but there is no such folder in ${root}`])
  })

  it('is no link out of the folder', async () => {
    const elsewhere = await temporaryFolder()
    const pin = await writeHook('greeter', { at: elsewhere })
    await symlink(join(elsewhere, 'greeter'), join(root, 'greeter'))
    const linked = await writeHook('linked', { at: elsewhere })
    await mkdir(join(root, 'linked'))
    await symlink(join(elsewhere, 'linked', 'HOOK.md'), join(root, 'linked', 'HOOK.md'))
    await copyFile(join(elsewhere, 'linked', 'handler.mjs'), join(root, 'linked', 'handler.mjs'))
    const { texts, warnings } = await turnWith({ greeter: pin, linked })
    expect(texts).toHaveLength(1)
    expect(warnings[0]).toMatch(/"greeter" is left out: .*links are not followed/)
    expect(warnings[1]).toMatch(/"linked" is left out: .*HOOK\.md/)
  })

  it('is not one that everybody may change', async () => {
    const pin = await writeHook('greeter')
    await chmod(join(root, 'greeter', 'handler.mjs'), 0o666)
    expect((await turnWith({ greeter: pin })).warnings[0]).toMatch(/every user of this machine/)
  })

  it.each([
    { what: 'no head', parts: { head: '# Greeter' }, says: /YAML head/ },
    {
      what: 'another name',
      parts: { head: '---\nname: x\nevents: [agent_end]\n---\n' },
      says: /calls itself "x"/,
    },
    {
      what: 'an unknown hook',
      parts: { head: '---\nname: odd\nevents: [lunch]\n---\n' },
      says: /is no hook/,
    },
    { what: 'no hook at all', parts: { head: '---\nname: odd\nevents: []\n---\n' }, says: /events/ },
    { what: 'a broken head', parts: { head: '---\nname: [\n---\n' }, says: /left out/ },
    { what: 'no function', parts: { handler: 'export default 5' }, says: /no function as default export/ },
    { what: 'a broken handler', parts: { handler: 'export default (' }, says: /left out/ },
    {
      what: 'a file beside it',
      parts: { handler: "import './other.mjs'\nexport default () => {}" },
      says: /left out/,
    },
    {
      what: 'an option that makes no sense',
      parts: { head: '---\nname: odd\nevents: [agent_end]\ntimeoutMs: 0\n---\n' },
      says: /timeoutMs/,
    },
  ])('with $what is named in the log, and the others are loaded', async ({ parts, says }) => {
    const odd = await writeHook('odd', parts)
    const greeter = await writeHook('greeter')
    const { texts, warnings } = await turnWith({ odd, greeter })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(says)
    expect(warnings[0]).toContain('"odd"')
    expect(texts[0]).toContain('heard hi')
  })
})
