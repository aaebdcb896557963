import { describe, expect, it, onTestFinished } from 'vitest'
import { leaseStore, sqliteLog } from '../src/index.ts'
import { type Child, startChild } from './fixtures/children.ts'
import { tempFolder } from './fixtures/temp-folder.ts'

const newPath = tempFolder()
const ROOT = 'root-1'

async function startHolder(path: string, holderId: string): Promise<Child> {
  const child = startChild('lease-holder.ts', [path, ROOT, holderId])
  expect(await child.nextLine()).toBe('ready')
  return child
}

async function ask(child: Child, line: 'acquire' | 'release'): Promise<string> {
  child.send(line)
  return child.nextLine()
}

function openStore(path: string) {
  const log = sqliteLog({ path })
  onTestFinished(() => log.close())
  return leaseStore({ log, holderId: 'test' })
}

describe('a lease between processes', () => {
  it('is refused while its holder lives, naming the process, and passes on when that is killed', async () => {
    const path = newPath()
    const holder = await startHolder(path, 'holder')
    expect(await ask(holder, 'acquire')).toBe('epoch 1')
    const leases = openStore(path)
    await expect(leases.acquire(ROOT)).rejects.toMatchObject({
      code: 'lease-held',
      holder: { holderId: 'holder', process: { pid: holder.pid } },
    })
    expect(await leases.read(ROOT)).toMatchObject({ epoch: 1, process: { pid: holder.pid } })
    holder.kill()
    await holder.exited()
    expect(await leases.read(ROOT)).toBeUndefined()
    const lease = await leases.acquire(ROOT)
    expect(lease.epoch).toBe(2)
    await lease.renew()
    expect(lease.isHeld()).toBe(true)
  })

  it('passes on when its holder gives it back', async () => {
    const path = newPath()
    const holder = await startHolder(path, 'holder')
    expect(await ask(holder, 'acquire')).toBe('epoch 1')
    expect(await ask(holder, 'release')).toBe('released')
    expect((await openStore(path).acquire(ROOT)).epoch).toBe(2)
    expect(await ask(holder, 'acquire')).toBe(`lease-held ${process.pid}`)
  })

  it('goes to exactly one of two processes that take it at once, also over a dead one', async () => {
    const path = newPath()
    const dead = await startHolder(path, 'dead')
    expect(await ask(dead, 'acquire')).toBe('epoch 1')
    dead.kill()
    await dead.exited()
    const [left, right] = await Promise.all(['left', 'right'].map((id) => startHolder(path, id)))
    if (left === undefined || right === undefined) throw new Error('two children were started')
    const answers = await Promise.all([ask(left, 'acquire'), ask(right, 'acquire')])
    const winner = answers[0] === 'epoch 2' ? left : right
    expect(answers.toSorted()).toEqual(['epoch 2', `lease-held ${winner.pid}`])
  })
})
