/** Histories for fast-check. */
import fc from 'fast-check'
import type { Step } from './history.ts'
import { MIX } from './operations.ts'

const single = fc.record({
  do: fc.constantFrom(...MIX),
  by: fc.nat(2),
  on: fc.constantFrom(...Array<number>(14).fill(0), 1, 2),
  lease: fc.constantFrom(...Array<number>(40).fill(0), 1, 1, 2, 3),
  dice: fc.array(fc.nat(250), { minLength: 6, maxLength: 12, size: 'max' }),
})

/** A purge and a listing go over several streams, and whoever commits meanwhile may be seen in some. */
const concurrent = single.filter((one) => one.do !== 'purge' && one.do !== 'list')

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 60, arbitrary: single },
  { weight: 4, arbitrary: fc.record({ together: fc.array(concurrent, { minLength: 2, maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ reopen: fc.nat(2), snapshot: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 3 }), by: fc.nat(2), on: fc.nat(2) }) },
)

/** Most begin with a graph that has something in it. */
const beginning: fc.Arbitrary<Step[]> = fc.oneof(
  {
    weight: 9,
    arbitrary: single.map((one): Step[] => [
      { ...FIRST, do: 'advance' },
      { ...one, on: 0, do: 'add' },
    ]),
  },
  { weight: 1, arbitrary: fc.constant<Step[]>([]) },
)

const FIRST = { by: 0, on: 0, lease: 0, dice: [0] }

export const histories: fc.Arbitrary<Step[]> = fc
  .tuple(beginning, fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }))
  .map(([before, steps]) => [...before, ...steps])
