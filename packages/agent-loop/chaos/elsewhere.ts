/**
 * Preloaded into a host: makes its process one of a machine of its own, whose clock is not that of the
 * others. Only what tells the time of day is moved; timers and the monotonic clock are not.
 *
 * `CHAOS_HOST` is the name of the machine, `CHAOS_SKEW_MS` how far its clock is ahead.
 */
import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'

const skewMs = Number(process.env['CHAOS_SKEW_MS'] ?? 0)
const machine = process.env['CHAOS_HOST'] ?? ''
const Real = Date

globalThis.Date = new Proxy(Real, {
  construct: (target, values: unknown[], type) =>
    Reflect.construct(target, values.length === 0 ? [Real.now() + skewMs] : values, type) as object,
  get: (target, key, receiver) =>
    key === 'now' ? () => Real.now() + skewMs : (Reflect.get(target, key, receiver) as unknown),
})

os.hostname = () => machine
syncBuiltinESMExports()
