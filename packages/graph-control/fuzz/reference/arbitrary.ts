/** Histories for fast-check. */
import {
  type Arbitrary,
  array as arrayOf,
  boolean,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
  tuple,
} from 'fast-check'
import type { Step } from './history.ts'
import { MIX } from './operations.ts'

const single = record({
  do: constantFrom(...MIX),
  by: nat(2),
  on: constantFrom(...Array<number>(14).fill(0), 1, 2),
  lease: constantFrom(...Array<number>(40).fill(0), 1, 1, 2, 3),
  dice: arrayOf(nat(250), { minLength: 6, maxLength: 12, size: 'max' }),
})

/** A purge and a listing go over several streams, and whoever commits meanwhile may be seen in some. */
const concurrent = single.filter((one) => one.do !== 'purge' && one.do !== 'list')

const step: Arbitrary<Step> = oneof(
  { weight: 60, arbitrary: single },
  { weight: 4, arbitrary: record({ together: arrayOf(concurrent, { minLength: 2, maxLength: 3 }) }) },
  { weight: 1, arbitrary: record({ reopen: nat(2), snapshot: boolean() }) },
  { weight: 1, arbitrary: record({ take: integer({ min: 1, max: 3 }), by: nat(2), on: nat(2) }) },
)

/** Most begin with a graph that has something in it. */
const beginning: Arbitrary<Step[]> = oneof(
  {
    weight: 9,
    arbitrary: single.map((one): Step[] => [
      { ...FIRST, do: 'advance' },
      { ...one, on: 0, do: 'add' },
    ]),
  },
  { weight: 1, arbitrary: constant<Step[]>([]) },
)

const FIRST = { by: 0, on: 0, lease: 0, dice: [0] }

export const histories: Arbitrary<Step[]> = tuple(
  beginning,
  arrayOf(step, { minLength: 1, maxLength: 60, size: 'max' }),
).map(([before, steps]) => [...before, ...steps])
