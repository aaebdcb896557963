/**
 * One session's history that uses every entry there is, written by the host itself. The frozen fixture of
 * a format is what this wrote when the format was published; a new format gets a new file, and no file
 * that is there is changed.
 */
import type { RunEntry } from '../../src/entries.ts'
import { until } from './until.ts'
import { World } from './world.ts'

/** Entries of the run stream, in order. */
export async function writeExample(): Promise<readonly Pick<RunEntry, 'type' | 'data'>[]> {
  const world = await World.boot()
  const agent = await world.createAgent('s')
  await world.host.configure('s', { queue: { mode: 'collect', cap: 3 }, verbose: 'on' })
  const first = await world.accept('s', 'first', { priority: 'foreground', messageId: 'mail-1' })
  const call = await world.model.call(0)
  const steered = await world.accept('s', 'steered', { queueMode: 'steer' })
  await until(() => agent.inbox.nextStep.length === 1)
  await world.accept('s', 'echoed', { queueMode: 'steer-backlog', supersedeKey: 'k' })
  await until(() => agent.inbox.nextStep.length === 2)
  // Takes the place of the one before, and is dropped itself when the queue is full.
  await world.accept('s', 'newer', { queueMode: 'followup', supersedeKey: 'k' })
  const one = await world.accept('s', 'one')
  await world.accept('s', 'two')
  const three = await world.accept('s', 'three', { expiresAt: world.clock.now() + 60_000 })
  await world.host.queue.move(three, one)
  call.reply('so far')
  ;(await world.model.call(1)).reply('with both')
  for (const runId of [first, steered]) await world.host.wait({ runId })
  world.clock.advance(500)
  ;(await world.model.call(2)).reply('to all three')
  await world.host.wait({ runId: three })
  const four = await world.accept('s', 'four')
  world.clock.advance(500)
  ;(await world.model.call(3)).fail('QUOTA', 'no credit')
  await world.host.wait({ runId: four })
  return (await world.log.read('run/s')).map(({ type, data }) => ({ type, data })) as never
}

/** Entries of a session that a key names and whose opener fails once. */
export async function writeKeyedExample(): Promise<readonly Pick<RunEntry, 'type' | 'data'>[]> {
  const world = await World.boot()
  let failures = 1
  world.host.registerOpener(async () => {
    failures -= 1
    if (failures >= 0) throw new Error('not now')
    return undefined
  })
  const model = { provider: 'gate', model: 'm' }
  const { runId } = await world.host.accept({
    sessionKey: 'mail:someone',
    message: 'hello',
    idempotencyKey: 'k',
    runId: 'r',
    model,
    cwd: '/here',
    lane: 'nested',
    timeoutMs: 1000,
  })
  await until(() => world.clock.pending === 1)
  world.clock.advance(1000)
  ;(await world.model.call(0)).cutShort('hi')
  const { sessionId } = (await world.host.read(runId)) ?? { sessionId: '' }
  await world.host.wait({ runId })
  return (await world.log.read(`run/${sessionId}`)).map(({ type, data }) => ({ type, data })) as never
}
