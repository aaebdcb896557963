/** Histories for fast-check. */
import fc from 'fast-check'
import type { Step } from './history.ts'
import { MIX } from './operations.ts'

const single = fc.record({
  do: fc.constantFrom(...MIX),
  by: fc.nat(2),
  on: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2),
  lease: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3),
  dice: fc.array(fc.nat(250), { minLength: 6, maxLength: 12, size: 'max' }),
})

/** A purge and a listing go over several streams, and whoever commits meanwhile may be seen in some. */
const concurrent = single.filter((one) => one.do !== 'purge' && one.do !== 'list')

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 40, arbitrary: single },
  { weight: 4, arbitrary: fc.record({ together: fc.array(concurrent, { minLength: 2, maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ reopen: fc.nat(2), snapshot: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 3 }), by: fc.nat(2), on: fc.nat(2) }) },
)

export const histories: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 70, size: 'max' })
