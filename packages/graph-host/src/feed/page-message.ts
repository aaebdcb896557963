/** What a page says, checked. */
import type { PageMessage } from './wire.ts'

const ID_CHARS = 256

/** @returns `undefined` for what no page of ours says. */
export function parsePageMessage(text: string): PageMessage | undefined {
  let said: unknown
  try {
    said = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(said)) return undefined
  const { type, key } = said
  if (!isCount(key)) return undefined
  if (type === 'unwatch') return { type, key }
  const { sessionId, graphId, have } = said
  if (type === 'runs' || type === 'supervision') return isId(sessionId) ? { type, key, sessionId } : undefined
  if (type !== 'watch') return undefined
  if (!isId(sessionId) || (graphId !== undefined && !isId(graphId))) return undefined
  const kept = have === undefined ? undefined : parseHave(have)
  if (have !== undefined && kept === undefined) return undefined
  return {
    type,
    key,
    sessionId,
    ...(graphId === undefined ? {} : { graphId }),
    ...(kept === undefined ? {} : { have: kept }),
  }
}

function parseHave(value: unknown): { graphId: string; seq: number } | undefined {
  if (!isRecord(value)) return undefined
  const { graphId, seq } = value
  return isId(graphId) && isCount(seq) ? { graphId, seq } : undefined
}

/** An id as this bundle and DSH make them: no empty one, none without end. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= ID_CHARS
}

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
