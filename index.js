/**
 * dsh-graph: the meta bundle. Its patch carries a row for each member; this entry is the row of the
 * bundle itself and tells, once the boot has settled, which members are at work.
 */

/** Each member with the service by which it is recognized; those without provide tools only. */
export const members = Object.freeze({
  'dsh-durable-log': 'durableLog',
  'dsh-graph-control': 'graphControl',
  'dsh-agent-loop-host': 'agentLoopHost',
  'dsh-graph-host': 'agentGraphController',
  'dsh-graph-runtime': 'graphTools',
})

export const name = 'dsh-graph'

/** @param {import('@deepseek-ai/cordis').Context} ctx */
export function apply(ctx) {
  let disposed = false
  ctx.effect(() => () => void (disposed = true), 'dsh-graph report')
  void Promise.resolve(ctx.get('loader')?.await()).then(
    () => {
      if (disposed) return
      const missing = Object.entries(members).filter(([, service]) => ctx.get(service) === undefined)
      if (missing.length === 0) ctx.logger('dsh-graph').info('all members are at work')
      else ctx.logger('dsh-graph').warn(`not at work: ${missing.map(([member]) => member).join(', ')}`)
    },
    // A boot that failed reports itself.
    () => undefined,
  )
}
