/** Approvals that nobody gives, tools that are not there, sessions that cannot be opened: none stays a secret. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { defineTool } from '@deepseek-ai/dsh-tools'
import ApprovalService from '@deepseek-ai/dsh-user-approval'
import { describe, expect, it } from 'vitest'
import type { Roots } from '../src/roots.ts'
import { Host, settleDown, temporaryFolder, textOf, until, wakesOf, type HostOptions } from './host.ts'

/** A tool that asks before each use, as a policy of the profile decides or in its own body. */
function risky(where: 'policy' | 'body') {
  return async (ctx: Context) => {
    await ctx.plugin({
      name: 'risky',
      inject: ['tools'],
      apply: (inner: Context) => {
        for (const name of ['risky', 'riskier'])
          inner.tools.register(
            defineTool({
              name,
              description: 'Leaves the workspace.',
              parameters: {},
              output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
              execute: async (_args, exec) => {
                const approval = inner.get('approval')
                if (where === 'policy' || approval === undefined || exec.agent === undefined) return 'done'
                const outcome = await approval.request({
                  agent: exec.agent,
                  toolName: name,
                  reason: 'it leaves the workspace',
                })
                if (outcome !== 'allowed-once') throw new Error(outcome)
                return 'done'
              },
            }),
          )
        if (where === 'policy')
          inner.on('tools/pre-execute', async ({ name }, next) =>
            name.startsWith('risk') ? { kind: 'ask', reason: 'it leaves the workspace' } : next(),
          )
      },
    })
  }
}

const withApprovals = (where: 'policy' | 'body') => async (ctx: Context) => {
  await ctx.plugin(ApprovalService, {})
  await risky(where)(ctx)
}

async function refused(options: HostOptions) {
  const host = await Host.boot(options)
  const root = await host.root()
  await host.add(
    root,
    { workId: 'a', instruction: 'use risky' },
    { workId: 'b', instruction: 'stand at gate b' },
  )
  await until(() => wakesOf(root).length === 1 && root.status === 'idle', 'the wake')
  return { host, root }
}

function rootsOf(host: Host): Roots {
  return host.ctx.get('agentGraphController') as unknown as Roots
}

const WAYS = [
  ['a policy asks and approvals are there', withApprovals('policy')],
  ['a policy asks and nobody can be asked', risky('policy')],
  ['the tool asks in its own body', withApprovals('body')],
] as const

describe('an operator that is refused for lack of approval', () => {
  it.each(WAYS)(
    'is held for a person with tool, reason and cure, and wakes the root once: %s',
    async (_way, prepare) => {
      const { host, root } = await refused({ prepare })
      const text = wakesOf(root)[0]?.text ?? ''
      expect(text).toMatch(/- a waits for a person: .*"risky".*it leaves the workspace/u)
      expect(text).toContain('Cure: a person confirms')
      const view = await host.call(root, 'view_agent_graph', {})
      expect(textOf(view)).toMatch(/- a \[running\].*waits for a person/u)
      expect(view.value).toMatchObject({ counts: { pending: 2 } })
      const retry = await host.call(root, 'update_agent_graph', { retry: [{ workId: 'a', reason: 'go on' }] })
      expect(textOf(retry)).toContain('a person has to confirm it first')
      await settleDown()
      expect(wakesOf(root)).toHaveLength(1)
      expect((await host.work('b')).status).toBe('running')
    },
  )

  it.each(WAYS)('goes on with what a person allows: %s', async (_way, prepare) => {
    const { host } = await refused({ prepare })
    await rootsOf(host).confirm({
      rootSessionId: 'root',
      workId: 'a',
      reason: 'go on',
      allowTools: ['risky'],
    })
    const { claimId, recordIds } = await host.whenWork('a', 'completed')
    const { claims, records } = await host.graph()
    expect(records.get(recordIds[0] ?? '')?.summary).toBe('did the risky thing')
    expect(claims.get(claimId ?? '')).toMatchObject({ attempt: 2, retryReason: 'go on (allowed: risky)' })
  })

  it('is held again when a person confirms it without a wider scope', async () => {
    const { host, root } = await refused({ prepare: withApprovals('body') })
    await rootsOf(host).confirm({ rootSessionId: 'root', workId: 'a', reason: 'try again' })
    await until(() => wakesOf(root).length === 2, 'the second wake')
    const { claims, works } = await host.graph()
    expect(claims.get(works.get('a')?.claimId ?? '')).toMatchObject({ attempt: 2, hold: { kind: 'person' } })
  })

  it.each(WAYS)('is held again for what a person did not allow: %s', async (_way, prepare) => {
    const host = await Host.boot({ prepare })
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'use riskier' })
    await until(() => wakesOf(root).length === 1 && root.status === 'idle')
    await rootsOf(host).confirm({ rootSessionId: 'root', workId: 'a', reason: 'x', allowTools: ['risky'] })
    await until(() => wakesOf(root).length === 2, 'the second wake')
    expect(wakesOf(root)[1]?.text).toContain('"riskier"')
    expect((await host.work('a')).status).toBe('running')
  })

  it('is not granted what was granted to another work', async () => {
    const { host, root } = await refused({ prepare: withApprovals('body') })
    await rootsOf(host).confirm({
      rootSessionId: 'root',
      workId: 'a',
      reason: 'go on',
      allowTools: ['risky'],
    })
    const { operatorId } = await host.whenWork('a', 'completed')
    await host.add(root, {
      workId: 'c',
      instruction: 'use risky',
      targetKind: 'existing_operator',
      operatorId,
    })
    await until(async () =>
      [...(await host.graph()).claims.values()].some(({ hold }) => hold?.kind === 'person'),
    )
    expect((await host.work('c')).status).toBe('running')
  })

  it('still waits after a crash, and goes on with what a person allows then', async () => {
    const { host, root } = await refused({ folder: await temporaryFolder(), prepare: withApprovals('body') })
    await host.ctx.sessions.flush(root.session)
    await host.ctx.sessions.flush((await host.operatorOf('b')).session)
    const next = await Host.boot({
      folder: await host.remains(),
      prepare: withApprovals('body'),
      config: { adoptRoots: 'always' },
    })
    await next.gates.reached('b')
    expect((await next.work('a')).status).toBe('running')
    await rootsOf(next).confirm({
      rootSessionId: 'root',
      workId: 'a',
      reason: 'go on',
      allowTools: ['risky'],
    })
    await next.whenWork('a', 'completed')
  })

  it('cannot be confirmed while it waits for nobody', async () => {
    const { host } = await refused({ prepare: withApprovals('policy') })
    await expect(
      rootsOf(host).confirm({ rootSessionId: 'root', workId: 'b', reason: 'x' }),
    ).rejects.toMatchObject({ code: 'nothing-to-confirm' })
    await expect(
      rootsOf(host).confirm({ rootSessionId: 'root', workId: 'a', reason: 'x', allowTools: [''] }),
    ).rejects.toMatchObject({ code: 'invalid-grant' })
  })

  it('that was stopped is stopped, not held', async () => {
    const { host, root } = await refused({ prepare: withApprovals('policy') })
    await host.stop(root, 'a')
    expect((await host.work('a')).status).toBe('stopped')
    await until(async () => (await host.graph()).live.claims.size === 1)
  })
})

describe('an operator that calls a tool it does not have', () => {
  it('fails with the name of it, and wakes the root once', async () => {
    const host = await Host.boot()
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'use nosuch' })
    const { reason } = await host.whenWork('a', 'failed')
    expect(reason).toBe('unknown-tool: the operator called "nosuch", which it does not have')
    await until(() => wakesOf(root).length === 1)
    await settleDown()
    expect(wakesOf(root)).toHaveLength(1)
  })

  it('may try as often as the setting says', async () => {
    const host = await Host.boot({ config: { unknownToolCalls: 3 } })
    await host.add(await host.root(), { workId: 'a', instruction: 'use nosuch' })
    await host.whenWork('a', 'failed')
    expect(host.model.of(await host.sessionOf('a'))).toHaveLength(3)
  })
})

describe('an operator whose session cannot be opened', () => {
  it('fails its work with the text of the refusal, and wakes the root once', async () => {
    const host = await Host.boot({
      prepare: (ctx) => {
        ctx.on('agent/created', ({ agent }) => {
          if (agent.session.header.origin === 'subagent') throw new Error('no room for children')
        })
      },
    })
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'do it' })
    const { reason } = await host.whenWork('a', 'failed')
    expect(reason).toContain('no room for children')
    await until(() => wakesOf(root).length === 1)
    await settleDown()
    expect(wakesOf(root)).toHaveLength(1)
  })

  it('because it is damaged fails its work loudly, and keeps what is left of it', async () => {
    const folder = await temporaryFolder()
    const host = await Host.boot({ folder })
    const root = await host.root()
    await host.add(root, { workId: 'a', instruction: 'do it' })
    const { operatorId } = await host.whenWork('a', 'completed')
    const sessionId = await host.sessionOf('a')
    await until(() => !host.isLive(sessionId) && wakesOf(root).length === 1 && root.status === 'idle')
    await host.dispose()
    const file = await damage(folder, sessionId)
    const next = await Host.boot({ folder })
    const again = await next.root('root', { resume: true })
    await next.add(again, { workId: 'b', instruction: 'x', targetKind: 'existing_operator', operatorId })
    const { reason } = await next.whenWork('b', 'failed')
    expect(reason).toMatch(/^open-failed: /u)
    await until(() => wakesOf(again).length === 2)
    expect(await readFile(file, 'utf8')).toContain('damaged')
  })
})

/** Breaks a line in the middle of a session's log. @returns the file. */
async function damage(folder: string, sessionId: string): Promise<string> {
  const sessions = join(folder, 'sessions')
  const name = (await readdir(sessions, { recursive: true })).find(
    (file) => file.includes(sessionId) && file.includes('.jsonl'),
  )
  if (name === undefined) throw new Error(`no file of ${sessionId}`)
  const file = join(sessions, name)
  const lines = (await readFile(file, 'utf8')).split('\n')
  lines[2] = '{"damaged'
  await writeFile(file, lines.join('\n'))
  return file
}
