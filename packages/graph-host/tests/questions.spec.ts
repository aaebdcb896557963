/** A root whose turn waits for its person: its wake says so, waits as well, and comes once. */
import type { Context } from '@deepseek-ai/cordis'
import { defineTool } from '@deepseek-ai/dsh-tools'
import ApprovalService from '@deepseek-ai/dsh-user-approval'
import { describe, expect, it } from 'vitest'
import { rootWaitOf } from '../src/board/waits.ts'
import { openQuestion } from '../src/root-questions.ts'
import { Host, say, settleDown, temporaryFolder, turnsOf, until, wakesOf, type HostOptions } from './host.ts'

/** A person who takes their time to answer, and a tool that asks them. */
class Person {
  readonly asked: string[] = []
  isQuick = false
  private readonly answers: (() => void)[] = []

  answer(): void {
    for (const answer of this.answers.splice(0)) answer()
  }

  readonly prepare = async (ctx: Context): Promise<void> => {
    await ctx.plugin(ApprovalService, {})
    await ctx.plugin({
      name: 'person',
      inject: ['approval', 'tools'],
      apply: (inner: Context) => {
        inner.on('approval/request', ({ toolName }) => {
          this.asked.push(toolName)
          if (this.isQuick) return Promise.resolve('allowed-once')
          return new Promise((resolve) => this.answers.push(() => resolve('allowed-once')))
        })
        inner.tools.register(
          defineTool({
            name: 'risky',
            description: 'Leaves the workspace.',
            parameters: {},
            output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
            execute: async () => 'done',
          }),
        )
        inner.on('tools/pre-execute', async ({ name }, next) => (name === 'risky' ? { kind: 'ask' } : next()))
      },
    })
  }
}

async function withPerson(options: HostOptions = {}) {
  const person = new Person()
  const host = await Host.boot({ ...options, prepare: person.prepare })
  return { host, person }
}

async function wakesIn(host: Host) {
  const state = await host.graph()
  const wakes = [...state.wakes.values()].map(({ attempts, status }) => `${status} ${attempts}`)
  return { wakes: wakes.join(), told: rootWaitOf(state, Date.now()) }
}

describe('a wake of a root that waits for its person', () => {
  it('is parked while the turn before it waits, and comes once when it is answered', async () => {
    const { host, person } = await withPerson()
    const root = await host.root()
    say(root, 'use risky')
    await until(() => person.asked.length === 1)
    await host.add(root, { workId: 'a', instruction: 'do it' })
    await until(async () => (await wakesIn(host)).wakes === 'waiting_permission 1', 'the parked wake')
    expect((await wakesIn(host)).told).toBe("the root's turn waits for a permission (an approval of risky)")
    await settleDown()
    expect(wakesOf(root)).toEqual([])
    person.answer()
    await until(() => turnsOf(root).join() === 'completed,completed')
    await until(async () => (await wakesIn(host)).wakes === 'delivered 1')
    await settleDown()
    expect(wakesOf(root)).toHaveLength(1)
    expect(host.warnings()).toEqual([])
  })

  it('is parked while its own turn waits, runs again once it is answered, and is not made twice (scenario W5)', async () => {
    const { host, person } = await withPerson()
    const root = await host.root()
    await host.add(root, { workId: 'risk', instruction: 'do it' })
    await until(async () => (await wakesIn(host)).wakes === 'waiting_permission 1', 'the parked wake')
    await host.add(root, { workId: 'b', instruction: 'do it' })
    await host.whenWork('b', 'completed')
    await settleDown()
    expect(wakesOf(root)).toHaveLength(1)
    person.answer()
    await until(() => turnsOf(root).join() === 'completed,completed')
    await until(async () => (await wakesIn(host)).wakes === 'delivered 1,delivered 1')
    expect(wakesOf(root).map(({ text }) => text.match(/^- \w+ completed$/gmu))).toEqual([
      ['- risk completed'],
      ['- b completed'],
    ])
    expect(person.asked).toEqual(['risky'])
    expect(host.warnings()).toEqual([])
  })

  it('is delivered once, whenever the answer comes (scenario W6)', async () => {
    for (const delay of [0, 1, 2, 5]) {
      const { host, person } = await withPerson()
      person.isQuick = delay === 0
      const root = await host.root()
      await host.add(root, { workId: 'risk', instruction: 'do it' })
      await until(() => person.asked.length === 1)
      for (let turn = 0; turn < delay; turn += 1) await new Promise((resolve) => setImmediate(resolve))
      person.answer()
      await until(async () => (await wakesIn(host)).wakes === 'delivered 1')
      await settleDown()
      expect(turnsOf(root)).toEqual(['completed'])
      expect(host.warnings()).toEqual([])
    }
  })

  it('is taken up by the next process when the one that was to answer is killed', async () => {
    const { host } = await withPerson({ folder: await temporaryFolder() })
    const root = await host.keptRoot()
    await host.add(root, { workId: 'risk', instruction: 'do it' })
    await until(async () => (await wakesIn(host)).wakes === 'waiting_permission 1', 'the parked wake')
    await host.ctx.sessions.flush(root.session)
    const { host: next, person } = await withPerson({ folder: await host.remains() })
    const again = await next.root('root', { resume: true })
    // The turn was cut off with its question; the wake is made once more.
    await until(() => person.asked.length === 1, 'the question once more')
    expect((await wakesIn(next)).wakes).toMatch(/^(?:running|waiting_permission) 2$/u)
    person.answer()
    await until(async () => (await wakesIn(next)).wakes === 'delivered 2')
    expect(turnsOf(again).at(-1)).toBe('completed')
  })
})

describe('an open question', () => {
  const start = { type: 'turn/start', data: { turn: 1 } }
  const asked = { type: 'approval/asked', data: { id: 'q', toolName: 'bash' } }
  const ask = { type: 'tool/call', data: { callId: 'c', name: 'ask_user_question' } }
  const answer = { type: 'tool/result', data: { message: { content: [{ callId: 'c' }] } } }

  it.each([
    ['an approval', [start, asked], 'an approval of bash'],
    [
      'an approval that was decided',
      [start, asked, { type: 'approval/decided', data: { id: 'q' } }],
      undefined,
    ],
    ['a question of the tool that asks', [start, ask], 'an answer to a question'],
    ['one that was answered', [start, ask, answer], undefined],
    ['the second of two', [start, asked, ask, answer], 'an approval of bash'],
    ['any other tool', [start, { type: 'tool/call', data: { callId: 'c', name: 'bash' } }], undefined],
    ['a turn that was cut off', [start, asked, { type: 'turn/end', data: {} }], undefined],
    ['a turn before', [start, asked, start], undefined],
    ['no turn', [], undefined],
  ])('of %s', (_title, events, question) => {
    expect(openQuestion(events)).toBe(question)
  })
})
