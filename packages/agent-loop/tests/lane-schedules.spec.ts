/** Random schedules against a plain model of what the lanes promise. */
import { describe, expect, it } from 'vitest'
import { EmbeddedLanes } from '../src/engines/embedded-lanes.ts'
import { LaneState } from '../src/lane-state.ts'
import { AGE_MS, drain, LaneModel, step } from './support/lane-model.ts'
import { randomOf } from './support/random.ts'

const SCHEDULES = 1000
const STEPS = 120
describe('random schedules', () => {
  it(`keep every promise of the lanes, ${SCHEDULES} times`, () => {
    for (let seed = 1; seed <= SCHEDULES; seed += 1) {
      const random = randomOf(seed)
      const model = new LaneModel()
      for (let count = 0; count < STEPS; count += 1) step(model, random)
      drain(model)
      expect([...model.started, ...model.removed].sort(), `seed ${seed}: nothing is lost`).toEqual(
        [...model.added].sort(),
      )
      expect(model.state.views(), `seed ${seed}: nothing is left`).toEqual([])
    }
  })

  it('let nobody starve: a waiting session is overtaken a bounded number of times', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = randomOf(seed)
      const widths = new Map([['main', 1]])
      const engine = new EmbeddedLanes({ widths, ageMs: AGE_MS })
      const state = new LaneState({ engine, widths, perTarget: [] })
      let count = 0
      const add = (sessionId: string, level: 0 | 1 | 2, now: number): void => {
        state.add(
          { id: `${sessionId}-${(count += 1)}`, sessionId, lane: 'main', level, collects: false },
          { at: 'end' },
          now,
        )
      }
      add('poor', 0, 0)
      let overtaken = 0
      // Until it has aged by two priorities, and then those that wait longer: none does.
      const most = 2 * AGE_MS + 6
      for (let now = 0; state.running('poor') === undefined && overtaken <= most; now += 1) {
        // Six sessions that always have more to do, of any priority.
        for (const rich of ['r1', 'r2', 'r3', 'r4', 'r5', 'r6']) {
          if (!state.isBusy(rich)) add(rich, random.pick([1, 2] as const), now)
        }
        const next = state.next(now)
        if (next === undefined || next.sessionId === 'poor') continue
        overtaken += 1
        state.finish(next.id, now)
      }
      expect(overtaken, `seed ${seed}`).toBeLessThanOrEqual(most)
    }
  })
})
