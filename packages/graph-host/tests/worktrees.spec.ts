/** Operators with a git worktree of their own: the real git, a real repository in a temporary folder. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chmod, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import { defineTool } from '@deepseek-ai/dsh-tools'
import { describe, expect, it } from 'vitest'
import type { Config } from '../src/index.ts'
import { Host, temporaryFolder, textOf, until } from './host.ts'

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@localhost', ...args], {
    cwd,
    encoding: 'utf8',
  })
}

async function repository(): Promise<string> {
  const path = await realpath(await temporaryFolder())
  git(path, 'init', '--quiet', '--initial-branch=main')
  await writeFile(join(path, 'note.txt'), 'first\n')
  git(path, 'add', '.')
  git(path, 'commit', '--quiet', '--message', 'first')
  return path
}

/** Appends a line to `note.txt` in the directory of whoever calls. */
async function scribble(ctx: Context): Promise<void> {
  await ctx.plugin({
    name: 'scribble',
    inject: ['tools'],
    apply: (inner: Context) =>
      void inner.tools.register(
        defineTool({
          name: 'scribble',
          description: 'Writes a line.',
          parameters: {},
          output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
          execute: async (_args, { agent }) => {
            await appendFile(join(agent?.session.header.cwd ?? '/nowhere', 'note.txt'), 'a line\n')
            return 'wrote'
          },
        }),
      ),
  })
}

async function hostIn(cwd: string, options: { folder?: string; config?: Partial<Config> } = {}) {
  const worktreeFolder = join(options.folder ?? (await temporaryFolder()), 'trees')
  const host = await Host.boot({
    ...options,
    prepare: scribble,
    config: { workspace: 'isolated', worktreeFolder, ...options.config },
  })
  return { host, root: await host.root('root', { meta: { cwd } }), worktreeFolder }
}

async function artifactsOf(host: Host, workId: string): Promise<Record<string, string>> {
  const { graphId, records, works } = await host.graph()
  const texts: Record<string, string> = {}
  for (const recordId of works.get(workId)?.recordIds ?? []) {
    const name = records.get(recordId)?.name ?? 'conclusion'
    texts[name] = (await host.ctx.graphControl.readResult(graphId, recordId)).text
  }
  return texts
}

const worktreesOf = (cwd: string) => git(cwd, 'worktree', 'list').trim().split('\n').length

describe('an isolated operator', () => {
  it('works on a branch of its own; branch and patch are reported, and the worktree goes', async () => {
    const cwd = await repository()
    const { host, root, worktreeFolder } = await hostIn(cwd)
    await host.add(root, { workId: 'a', instruction: 'scribble' })
    await host.whenWork('a', 'completed')
    const { branch = '', conclusion, patch } = await artifactsOf(host, 'a')
    expect(conclusion).toBe('wrote it down')
    const [name = ''] = branch.split(',')
    expect(name).toMatch(/^dsh-graph\/[0-9a-f]{24}$/u)
    expect(patch).toContain('+a line')
    expect(git(cwd, 'show', `${name}:note.txt`)).toBe('first\na line\n')
    expect(await readFile(join(cwd, 'note.txt'), 'utf8')).toBe('first\n')
    expect(worktreesOf(cwd)).toBe(1)
    const binding = (await host.ctx.graphControl.listOperatorBindings((await host.graph()).graphId))[0]
    expect(binding).toMatchObject({
      workId: 'a',
      branch: name,
      baseCommit: git(cwd, 'rev-parse', 'HEAD').trim(),
    })
    expect(binding?.path.startsWith(worktreeFolder)).toBe(true)
    expect(existsSync(binding?.path ?? '/')).toBe(false)
  })

  it('finds its branch again for a follow-up', async () => {
    const cwd = await repository()
    const { host, root } = await hostIn(cwd, { folder: await temporaryFolder() })
    await host.add(root, { workId: 'a', instruction: 'scribble' })
    const { operatorId } = await host.whenWork('a', 'completed')
    await host.add(root, {
      workId: 'b',
      instruction: 'scribble',
      targetKind: 'existing_operator',
      operatorId,
    })
    await host.whenWork('b', 'completed')
    const { branch = '' } = await artifactsOf(host, 'b')
    expect(git(cwd, 'show', `${branch.split(',')[0]}:note.txt`)).toBe('first\na line\na line\n')
    expect(worktreesOf(cwd)).toBe(1)
  })

  it('is beside others in the same repository', async () => {
    const cwd = await repository()
    const { host, root } = await hostIn(cwd)
    const ids = ['a', 'b', 'c', 'd']
    await host.add(root, ...ids.map((workId) => ({ workId, instruction: 'scribble' })))
    for (const id of ids) await host.whenWork(id, 'completed')
    const patches = await Promise.all(ids.map(async (id) => (await artifactsOf(host, id))['patch']))
    for (const patch of patches) expect(patch?.match(/^\+a line$/gmu)).toHaveLength(1)
    expect(worktreesOf(cwd)).toBe(1)
  })

  it('is told, like its root, what the root has not committed', async () => {
    const cwd = await repository()
    await writeFile(join(cwd, 'note.txt'), 'changed\n')
    const { host, root } = await hostIn(cwd)
    await host.add(root, { workId: 'a', instruction: 'scribble' })
    await host.whenWork('a', 'completed')
    const told = JSON.stringify(host.model.of(await host.sessionOf('a'))[0]?.messages)
    expect(told).toContain('The main working copy has 1 changed files that are not committed')
    const { branch, patch } = await artifactsOf(host, 'a')
    expect(branch).toContain('1 uncommitted files of the root were not in it')
    expect(patch).not.toContain('changed')
    expect(await readFile(join(cwd, 'note.txt'), 'utf8')).toBe('changed\n')
  })

  it('runs no hook of the repository', async () => {
    const cwd = await repository()
    const ran = join(cwd, '..', `${cwd.split('/').at(-1)}-ran`)
    for (const hook of ['post-checkout', 'pre-commit', 'post-commit']) {
      const path = join(cwd, '.git', 'hooks', hook)
      await mkdir(join(cwd, '.git', 'hooks'), { recursive: true })
      await writeFile(path, `#!/bin/sh\ntouch ${ran}\n`)
      await chmod(path, 0o755)
    }
    const { host, root } = await hostIn(cwd)
    await host.add(root, { workId: 'a', instruction: 'scribble' })
    await host.whenWork('a', 'completed')
    expect(existsSync(ran)).toBe(false)
  })

  it('fails its work with the reason where there is no repository', async () => {
    const { host, root } = await hostIn(await temporaryFolder())
    await host.add(root, { workId: 'a', instruction: 'scribble' })
    const { reason } = await host.whenWork('a', 'failed')
    expect(reason).toContain('is in no git repository')
  })

  it('is only one whose kind or configuration says so', async () => {
    const cwd = await repository()
    const operators = { plain: { description: '', workspace: 'shared' as const } }
    const { host, root } = await hostIn(cwd, { config: { operators } })
    await host.add(root, { workId: 'a', instruction: 'stand at gate a', agentId: 'plain' })
    await host.gates.reached('a')
    expect((await host.operatorOf('a')).session.header.cwd).toBe(cwd)
    expect(worktreesOf(cwd)).toBe(1)
  })

  it('that a crash left goes on in its worktree; one that nobody needs is reclaimed with what it did', async () => {
    const cwd = await repository()
    const folder = await temporaryFolder()
    const first = await hostIn(cwd, { folder })
    await first.host.add(
      first.root,
      { workId: 'a', instruction: 'stand at gate a' },
      { workId: 'b', instruction: 'stand at gate b' },
    )
    await first.host.gates.reached('a')
    await first.host.gates.reached('b')
    const trees = (await readdir(first.worktreeFolder)).length
    expect([trees, worktreesOf(cwd)]).toEqual([2, 3])
    const left = (await first.host.operatorOf('b')).session.header.cwd ?? ''
    await appendFile(join(left, 'note.txt'), 'half done\n')
    await first.host.unmount('graph-host')
    const { graphId } = await first.host.graph()
    const claimId = (await first.host.work('b')).claimId ?? ''
    await first.host.ctx.graphControl.settleActivation({
      graphId,
      claimId,
      attempt: 1,
      outcome: 'cancelled',
      reason: 'gone',
    })
    await first.host.mount('graph-host')
    await until(() => !existsSync(left), 'the orphan is reclaimed')
    const bindings = await first.host.ctx.graphControl.listOperatorBindings(graphId)
    const branch = bindings.find(({ workId }) => workId === 'b')?.branch ?? ''
    await until(() => worktreesOf(cwd) === 2)
    expect(git(cwd, 'show', `${branch}:note.txt`)).toBe('first\nhalf done\n')
    first.host.gates.open('a')
    await first.host.whenWork('a', 'completed')
    expect(worktreesOf(cwd)).toBe(1)
    expect(textOf(await first.host.call(first.root, 'view_agent_graph', {}))).toContain('a [completed]')
  })
})
