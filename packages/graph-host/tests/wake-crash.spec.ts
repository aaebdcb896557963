/** A process that is killed around the moment in which the message of a wake is kept. */
import { join } from 'node:path'
import { sqliteLog } from 'dsh-durable-log'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Host, settleDown, temporaryFolder, turnsOf, until, wakesOf } from './host.ts'

/** What a kill leaves before or after the append that accepts the run of a wake. */
async function killedAround(place: 'before' | 'after'): Promise<string> {
  const folder = await temporaryFolder()
  const log = sqliteLog({ path: join(folder, 'log.sqlite') })
  onTestFinished(() => log.close())
  const left = Promise.withResolvers<string>()
  const append = log.append.bind(log)
  const host = await Host.boot({
    folder,
    prepare: (ctx) => void ctx.provide('durableLog', log),
    rows: ['graph-control', 'agent-loop-host', 'graph-host', 'tool-graph'],
  })
  log.append = async (stream, expectedSeq, entries, options) => {
    const isWake = stream === 'run/root' && entries.some(({ type }) => type === 'run/accepted')
    if (isWake && place === 'before') left.resolve(await host.remains())
    const seq = await append(stream, expectedSeq, entries, options)
    if (isWake && place === 'after') left.resolve(await host.remains())
    return seq
  }
  const root = await host.keptRoot()
  await host.add(root, { workId: 'a', instruction: 'do it' })
  return left.promise
}

async function nextProcess(folder: string) {
  const host = await Host.boot({ folder })
  const root = await host.root('root', { resume: true })
  await until(async () => {
    const wakes = [...(await host.graph()).wakes.values()]
    return wakes.length > 0 && wakes.every(({ status }) => status === 'delivered')
  }, 'the wake')
  await settleDown()
  return { host, root }
}

describe('a wake whose process was killed', () => {
  it('before its message was kept is delivered once by the next one (scenario W1)', async () => {
    const { host, root } = await nextProcess(await killedAround('before'))
    expect(wakesOf(root)).toHaveLength(1)
    expect(turnsOf(root)).toEqual(['completed', 'completed'])
    const runs = await host.runEntries('root')
    expect(runs.filter((type) => type === 'run/accepted')).toHaveLength(1)
    expect([...(await host.graph()).wakes.values()]).toMatchObject([{ attempts: 1 }])
  })

  it('after its message was kept is delivered once by the next one (scenario W2)', async () => {
    const { host, root } = await nextProcess(await killedAround('after'))
    expect(wakesOf(root)).toHaveLength(1)
    expect(turnsOf(root)).toEqual(['completed', 'completed'])
    const runs = await host.runEntries('root')
    expect(runs.filter((type) => type === 'run/accepted')).toHaveLength(1)
    expect(runs.filter((type) => type === 'run/settled')).toHaveLength(1)
  })
})
