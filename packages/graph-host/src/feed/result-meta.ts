/** What the results of the three tools keep for the page, read back with care: a session log is data. Pure. */

export interface ResultMeta {
  readonly graphId: string | undefined
  readonly call: 'view' | 'update' | 'yield'
  readonly phase?: 'draft' | 'open' | 'closed'
  readonly works?: number
  readonly ended?: number
  readonly update?: { readonly revision: number; readonly created: boolean; readonly works: number }
  readonly wait?: { readonly deliveredOnIdle: boolean; readonly pending: number }
}

/** @returns `undefined` for what is no result of ours. */
export function readMeta(value: unknown): ResultMeta | undefined {
  const meta = record(value)
  if (meta?.['plugin'] !== 'dsh-graph' || meta['version'] !== 1) return undefined
  const { call, graphId, phase } = meta
  if (call !== 'view' && call !== 'update' && call !== 'yield') return undefined
  const counts = record(meta['counts'])
  const update = record(meta['update'])
  const wait = record(meta['wait'])
  return {
    call,
    graphId: typeof graphId === 'string' ? graphId : undefined,
    ...(phase === 'draft' || phase === 'open' || phase === 'closed' ? { phase } : {}),
    ...(counts === undefined ? {} : { works: number(counts['works']), ended: number(counts['terminal']) }),
    ...(update === undefined
      ? {}
      : {
          update: {
            revision: number(update['revision']),
            created: update['created'] === true,
            works: number(update['works']),
          },
        }),
    ...(wait === undefined
      ? {}
      : { wait: { deliveredOnIdle: wait['deliveredOnIdle'] === true, pending: number(wait['pending']) } }),
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}

function number(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
