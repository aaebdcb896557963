import type { Context } from '@deepseek-ai/cordis'

/** Each member of the bundle with the service by which it is recognized. */
export declare const members: Readonly<Record<string, string>>
export declare const name: 'dsh-graph'
/** Tells, once the boot has settled, which members are at work. */
export declare function apply(ctx: Context): void
