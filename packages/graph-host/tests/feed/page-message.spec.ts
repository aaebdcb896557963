import { expect, it } from 'vitest'
import { parsePageMessage } from '../../src/feed/page-message.ts'

it.each([
  { type: 'watch', key: 1, sessionId: 'root' },
  { type: 'watch', key: 2, sessionId: 'root', graphId: 'g', have: { graphId: 'g', seq: 7 } },
  { type: 'unwatch', key: 1 },
])('a page says %j', (message) => {
  expect(parsePageMessage(JSON.stringify({ ...message, more: 'is dropped' }))).toEqual(message)
})

it.each([
  '',
  'null',
  '[]',
  '{"type":"watch"}',
  '{"type":"watch","key":-1,"sessionId":"root"}',
  '{"type":"watch","key":1}',
  '{"type":"watch","key":1,"sessionId":""}',
  '{"type":"watch","key":1,"sessionId":{"toString":1}}',
  `{"type":"watch","key":1,"sessionId":"${'x'.repeat(257)}"}`,
  '{"type":"watch","key":1,"sessionId":"root","graphId":7}',
  '{"type":"watch","key":1,"sessionId":"root","have":{"graphId":"g","seq":-1}}',
  '{"type":"watch","key":1,"sessionId":"root","have":"all"}',
  '{"type":"stop","key":1}',
  '{"type":"__proto__","key":1}',
])('%s is no message', (text) => {
  expect(parsePageMessage(text)).toBeUndefined()
})
