/**
 * The vocabulary of an agent graph and its store.
 *
 * A *root session* supervises a graph through *updates*. An update adds *works*. A work is done by
 * an *operator* (one durable child session), which is *provisioned* for it; a *claim* admits the
 * work's *activation* (one run of that operator). An activation ends by being *settled*, and leaves
 * *records*. A *wake* asks for one turn of the root. An *epoch* numbers the graphs of a root.
 */

export type { JsonValue } from 'dsh-durable-log'
export type * from './activation-types.ts'
export type * from './graph-types.ts'
export * from './schedule-types.ts'
export type * from './timeline-types.ts'
export type * from './wake-types.ts'
