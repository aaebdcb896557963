import { describe, expect, it } from 'vitest'
import { type ActivationOutcome, graphRecordId } from '../src/index.ts'
import { sha256Hex } from '../src/canonical.ts'
import { resultStream } from '../src/results.ts'
import {
  begin,
  claim,
  claimRequest,
  commit,
  complete,
  GRAPH,
  graph,
  MEDIA,
  openGraph,
  refusal,
  refusedAs,
  settlement,
  statuses,
  storeOn,
  work,
} from './fixture.ts'

describe.each(MEDIA)('settling on %s', (medium) => {
  it('commits the record with the end, and answers a repetition with what is there', async () => {
    const { store, reopenStore } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    const { targetOperatorId } = await begin(store, 'a')
    const first = await store.settleActivation(settlement('a', { conclusion: 'forty-two' }))
    expect(first).toMatchObject({
      created: true,
      work: { status: 'completed', recordIds: [first.record?.recordId] },
      record: {
        recordId: graphRecordId({
          graphId: GRAPH,
          operatorId: targetOperatorId,
          activationId: 'run-of-a',
          kind: 'conclusion',
        }),
        workId: 'a',
        activationId: 'run-of-a',
        summary: 'forty-two',
        summaryTruncated: false,
        textTruncated: false,
        bytes: 9,
        digest: `sha256:${sha256Hex('forty-two')}`,
      },
    })
    const reopened = await reopenStore()
    const seq = (await graph(reopened)).seq
    const repeated = settlement('a', { conclusion: 'something else', outcome: 'failed' })
    expect(await reopened.settleActivation(repeated)).toEqual({ ...first, created: false })
    expect((await graph(reopened)).seq).toBe(seq)
  })

  it('is fenced: a revoked attempt is refused, the live one is taken', async () => {
    const { store } = await openGraph(medium)
    await commit(store, 'c1', { addWork: [work('a')] })
    const { claimId } = await begin(store, 'a')
    await store.retryActivation(GRAPH, claimId, 1, 'lost')
    const late = () => store.settleActivation(settlement('a', { attempt: 1 }))
    expect(await refusal(store, late)).toMatchObject(refusedAs('attempt-conflict', 'live attempt is 2'))
    const early = () => store.settleActivation(settlement('a', { attempt: 3 }))
    expect(await refusal(store, early)).toMatchObject(refusedAs('attempt-conflict'))
    const { record } = await store.settleActivation(settlement('a', { attempt: 2 }))
    expect(record?.activationId).toBe('run-of-a#2')
    expect(await refusal(store, late)).toMatchObject(refusedAs('attempt-conflict', 'settled'))
  })
})

describe('settling', () => {
  it.each<[ActivationOutcome, string, string | undefined]>([
    ['completed', 'completed', undefined],
    ['failed', 'failed', 'because'],
    ['aborted', 'cancelled', 'because'],
    ['cancelled', 'cancelled', 'because'],
  ])('an outcome %s makes the work %s', async (outcome, status, reason) => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const { claimId } = await begin(store, 'a')
    const { work: ended } = await store.settleActivation(settlement('a', { outcome, reason: 'because' }))
    expect([ended.status, ended.reason]).toEqual([status, reason])
    expect((await graph(store)).claims.get(claimId)).toMatchObject({ admissionStatus: 'settled', outcome })
  })

  it('leaves no record where nothing was concluded, unless it completed', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a'), work('b'), work('after', { inputIds: ['b'] })] })
    await begin(store, 'a')
    const failed = await store.settleActivation(settlement('a', { outcome: 'failed', conclusion: '' }))
    expect([failed.record, failed.work.reason]).toEqual([undefined, 'no reason given'])
    await begin(store, 'b')
    const { conclusion: _, ...silent } = settlement('b')
    const { record } = await store.settleActivation(silent)
    expect(record).toMatchObject({ bytes: 0, summary: '' })
    expect(await store.readResult(GRAPH, record?.recordId ?? '')).toMatchObject({ text: '', totalChars: 0 })
    expect((await statuses(store))['after']).toBe('ready')
  })

  it('before the first attempt can fail the work but not complete it', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await claim(store, 'a')
    const unbegun = (outcome: ActivationOutcome) => () =>
      store.settleActivation(
        settlement('a', { attempt: 0, outcome, conclusion: '', reason: 'no such agent' }),
      )
    expect(await refusal(store, unbegun('completed'))).toMatchObject(
      refusedAs('attempt-conflict', 'not begun'),
    )
    expect(await refusal(store, () => store.settleActivation(settlement('a')))).toMatchObject(
      refusedAs('attempt-conflict', 'live attempt is 0'),
    )
    expect((await unbegun('failed')()).work).toMatchObject({ status: 'failed', reason: 'no such agent' })
  })

  it('of a stopped work keeps its record, and the work stays stopped', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await begin(store, 'a')
    await commit(store, 'c2', {
      stop: [{ targetId: 'a', reason: 'no' }],
      finish: { resultIds: [], reason: 'end' },
    })
    const { changeSeq } = await graph(store)
    const { work: ended, record } = await store.settleActivation(settlement('a'))
    expect(ended).toMatchObject({ status: 'stopped', reason: 'no', recordIds: [record?.recordId] })
    expect(await graph(store)).toMatchObject({ changeSeq, counts: { pending: 0, terminal: 1 } })
  })

  it('of a cancelled or unknown claim is refused', async () => {
    const { store, log } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    expect(await refusal(store, () => store.settleActivation(settlement('a')))).toMatchObject(
      refusedAs('intent-not-found'),
    )
    const { intentId } = await begin(store, 'a')
    await store.cancelAgentGraphIntentExecution(GRAPH, intentId, 'no')
    expect(await refusal(store, () => store.settleActivation(settlement('a')))).toMatchObject(
      refusedAs('attempt-conflict', 'cancelled'),
    )
    expect((await log.list({ prefix: 'result/' })).streams).toEqual([])
  })

  it('takes the words of a failure as they come', async () => {
    const { store } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await begin(store, 'a')
    const reason = `\u001b[31mboom\u0000 \ud800${'x'.repeat(9_000)}`
    const { work: failed } = await store.settleActivation(settlement('a', { outcome: 'failed', reason }))
    expect(failed.reason).toMatch(/^ ?\[31mboom {2}\ufffdx+…$/)
    expect(failed.reason).toHaveLength(4_000)
  })

  it('is told by its own text, whatever a settling that was refused had stored', async () => {
    const { store, log } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    await claim(store, 'a')
    const stale = await storeOn(log)
    await stale.readGraph(GRAPH)
    const { intentId } = claimRequest('a')
    await store.beginAgentGraphIntentExecutionAtScheduleRevision(GRAPH, intentId, 1)
    // Decided on what it remembers, stored, and refused when it is to be committed.
    const early = settlement('a', { attempt: 0, outcome: 'failed', conclusion: 'never begun' })
    expect(await refusal(store, () => stale.settleActivation(early))).toMatchObject(
      refusedAs('attempt-conflict'),
    )
    const { record } = await store.settleActivation(settlement('a', { conclusion: 'done' }))
    expect(record).toMatchObject({ summary: 'done', digest: `sha256:${sha256Hex('done')}` })
    expect((await store.readResult(GRAPH, record?.recordId ?? '')).text).toBe('done')
  })
})

describe('results', () => {
  const stored = async (conclusion: string) => {
    const { store, log } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const recordId = await complete(store, 'a', conclusion)
    const record = (await graph(store)).records.get(recordId)
    const pages = async (limit?: number) => {
      const texts: string[] = []
      for (let offset: number | undefined = 0; offset !== undefined;) {
        const page = await store.readResult(GRAPH, recordId, {
          offset,
          ...(limit === undefined ? {} : { limit }),
        })
        expect(page.offset).toBe(offset)
        texts.push(page.text)
        offset = page.nextOffset
      }
      return texts
    }
    return { store, log, recordId, record, pages }
  }

  it('are read in pages of 8,000 characters that meet exactly', async () => {
    const text = Array.from({ length: 30_000 }, (_, n) => `${n} `).join('')
    const { pages, store, recordId } = await stored(text)
    const read = await pages()
    expect(read.join('')).toBe(text)
    expect(read[0]).toHaveLength(8_000)
    expect(await store.readResult(GRAPH, recordId)).toMatchObject({
      totalChars: text.length,
      nextOffset: 8_000,
    })
  })

  it.each([1, 2, 3, 7, 8_000])('never split a character, %d a page', async (limit) => {
    const text = 'a😀é汉😀😀b'.repeat(3)
    const { pages } = await stored(text)
    const read = await pages(limit)
    expect(read.join('')).toBe(text)
    for (const page of read) expect(page.isWellFormed()).toBe(true)
  })

  it('begin at the character that an offset falls into, and end empty past the end', async () => {
    const { store, recordId } = await stored('😀b')
    expect(await store.readResult(GRAPH, recordId, { offset: 1, limit: 1 })).toEqual({
      recordId,
      text: '😀',
      offset: 0,
      nextOffset: 2,
      totalChars: 3,
    })
    expect(await store.readResult(GRAPH, recordId, { offset: 99 })).toEqual({
      recordId,
      text: '',
      offset: 3,
      totalChars: 3,
    })
  })

  it('are stored in chunks of at most 64 KiB, wherever characters fall', async () => {
    const text = `x${'😀汉'.repeat(40_000)}`
    const { log, recordId, record, pages } = await stored(text)
    const entries = await log.read(resultStream(GRAPH, { recordId, digest: record?.digest ?? '' }))
    const sizes = entries.slice(1).map((entry) => Buffer.byteLength((entry.data as { text: string }).text))
    expect(Math.max(...sizes)).toBeLessThanOrEqual(65_536)
    expect(sizes.length).toBe(Math.ceil(Buffer.byteLength(text) / 65_536))
    expect((await pages(50_000)).join('')).toBe(text)
  })

  it('are cut at 1 MiB, and say so at their end', async () => {
    const text = 'é'.repeat(600_000)
    const { record, pages } = await stored(text)
    expect(record).toMatchObject({
      bytes: 1_200_000,
      textTruncated: true,
      digest: `sha256:${sha256Hex(text)}`,
    })
    const kept = (await pages(100_000)).join('')
    expect(kept.startsWith('é'.repeat(524_288))).toBe(true)
    expect(kept.slice(524_288)).toBe('\n\n[cut here: 1048576 of 1200000 bytes are kept]')
  })

  it('of exactly 1 MiB are kept whole', async () => {
    const { record, pages } = await stored('z'.repeat(1_048_576))
    expect(record?.textTruncated).toBe(false)
    expect((await pages(1_048_576)).join('')).toHaveLength(1_048_576)
  })

  it('are summarized by their first 512 characters, cut at a character', async () => {
    const { record } = await stored(`${'s'.repeat(511)}😀 and more`)
    expect(record).toMatchObject({ summary: 's'.repeat(511), summaryTruncated: true })
    const short = await stored('s'.repeat(512))
    expect(short.record).toMatchObject({ summary: 's'.repeat(512), summaryTruncated: false })
  })

  it('replace halves of surrogate pairs instead of refusing them', async () => {
    const { record, pages } = await stored('broken \ud83d end')
    expect((await pages()).join('')).toBe('broken \ufffd end')
    expect(record?.digest).toBe(`sha256:${sha256Hex('broken \ufffd end')}`)
  })

  it('are refused for records that are not there and for malformed pages', async () => {
    const { store, recordId } = await stored('text')
    expect(await refusal(store, () => store.readResult(GRAPH, 'ghost'))).toMatchObject(
      refusedAs('record-not-found', 'ghost'),
    )
    expect(await refusal(store, () => store.readResult('ghost', recordId))).toMatchObject(
      refusedAs('record-not-found'),
    )
    expect(await refusal(store, () => store.readResult(GRAPH, recordId, { offset: -1 }))).toMatchObject(
      refusedAs('invalid', 'offset'),
    )
    expect(await refusal(store, () => store.readResult(GRAPH, recordId, { limit: 0 }))).toMatchObject(
      refusedAs('invalid', 'limit'),
    )
  })

  it('that were damaged are quarantined by name, and the graph stays readable', async () => {
    const { store, log } = await openGraph()
    await commit(store, 'c1', { addWork: [work('a')] })
    const { targetOperatorId: operatorId } = await begin(store, 'a')
    const recordId = graphRecordId({
      graphId: GRAPH,
      operatorId,
      activationId: 'run-of-a',
      kind: 'conclusion',
    })
    const digest = `sha256:${sha256Hex('result of a')}`
    await log.append(resultStream(GRAPH, { recordId, digest }), 0, [{ type: 'foreign', data: 1 }])
    expect(await refusal(store, () => store.settleActivation(settlement('a')))).toMatchObject(
      refusedAs('quarantined', `result/${GRAPH}/${recordId}`),
    )
    expect(await statuses(store)).toEqual({ a: 'running' })
  })
})
