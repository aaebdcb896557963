import { Context } from '@deepseek-ai/cordis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { SupervisedSessions } from '../../src/feed/supervised-sessions.ts'

const settled = () => new Promise((resolve) => setImmediate(resolve))

let ctx: Context
let switches: Map<string, boolean>
let sessions: SupervisedSessions
let told: (boolean | null)[]

beforeEach(() => {
  ctx = new Context()
  switches = new Map([['root', true]])
  sessions = new SupervisedSessions(ctx, (id) => switches.get(id))
  told = []
})

afterEach(() => ctx.fiber.dispose())

it('tells a page at once, and then when it is another, once for what happens in one go', async () => {
  sessions.watch('root', (supervised) => void told.push(supervised))
  switches.set('root', false)
  ctx.emit('tools/change')
  switches.set('root', true)
  ctx.emit('tools/change')
  switches.set('root', false)
  await settled()
  ctx.emit('tools/change')
  await settled()
  expect(told).toEqual([true, false])
})

it('tells of a session that is not open here, and when it is', async () => {
  sessions.watch('later', (supervised) => void told.push(supervised))
  switches.set('later', true)
  ctx.emit('tools/change')
  await settled()
  expect(told).toEqual([null, true])
})

it('tells nothing after the undo', async () => {
  const undo = sessions.watch('root', (supervised) => void told.push(supervised))
  undo()
  switches.set('root', false)
  ctx.emit('tools/change')
  await settled()
  expect(told).toEqual([true])
})
