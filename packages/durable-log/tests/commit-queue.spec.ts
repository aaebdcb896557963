import { describe, expect, it } from 'vitest'
import { CommitQueue, type Transactions } from '../src/commit-queue.ts'
import { DurableLogError } from '../src/errors.ts'

/** A medium in memory that can be told to be locked or to fail. */
function scriptedMedium() {
  const medium = {
    /** What each committed transaction wrote. */
    transactions: [] as string[][],
    open: undefined as string[] | undefined,
    locked: 0,
    failCommits: 0,
    write(text: string): string {
      if (text.startsWith('bad')) throw new Error(`disk refuses ${text}`)
      if (text.startsWith('no')) throw new DurableLogError('conflict', `refuses ${text}`)
      medium.open?.push(text)
      return text
    },
  }
  const transactions: Transactions = {
    begin: () => {
      if (medium.locked > 0) {
        medium.locked -= 1
        throw new Error('locked')
      }
      medium.open = []
    },
    commit: () => {
      if (medium.failCommits > 0) {
        medium.failCommits -= 1
        throw new Error('disk is full')
      }
      if (medium.open !== undefined) medium.transactions.push(medium.open)
      medium.open = undefined
    },
    rollback: () => void (medium.open = undefined),
    isBusy: (error) => error instanceof Error && error.message === 'locked',
    failure: (error) => new DurableLogError('unavailable', error instanceof Error ? error.message : 'locked'),
  }
  return { medium, transactions }
}

function setUp(patienceMs = 10_000) {
  const { medium, transactions } = scriptedMedium()
  const queue = new CommitQueue(transactions, patienceMs)
  const committed: string[] = []
  const submit = (text: string, signal?: AbortSignal) =>
    queue.submit({
      stream: 's',
      signal,
      run: () => medium.write(text),
      committed: () => committed.push(text),
    })
  return { medium, submit, committed }
}

describe('CommitQueue', () => {
  it('commits writes that arrive together in one transaction, in their order', async () => {
    const { medium, submit, committed } = setUp()
    expect(await Promise.all(['a', 'b', 'c'].map((text) => submit(text)))).toEqual(['a', 'b', 'c'])
    expect(medium.transactions).toEqual([['a', 'b', 'c']])
    expect(committed).toEqual(['a', 'b', 'c'])
    await submit('d')
    expect(medium.transactions).toEqual([['a', 'b', 'c'], ['d']])
  })

  it('bounds a transaction and commits the rest in the next ones', async () => {
    const { medium, submit } = setUp()
    const texts = Array.from({ length: 600 }, (_, index) => String(index))
    await Promise.all(texts.map((text) => submit(text)))
    expect(medium.transactions.map(({ length }) => length)).toEqual([256, 256, 88])
    expect(medium.transactions.flat()).toEqual(texts)
  })

  it('lets a write that refuses fail alone', async () => {
    const { medium, submit, committed } = setUp()
    const outcomes = await Promise.allSettled(['a', 'no', 'b'].map((text) => submit(text)))
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(medium.transactions).toEqual([['a', 'b']])
    expect(committed).toEqual(['a', 'b'])
  })

  it('repeats the writes of a failed transaction one by one', async () => {
    const { medium, submit } = setUp()
    const outcomes = await Promise.allSettled(['a', 'bad', 'no', 'b'].map((text) => submit(text)))
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: 'a' },
      { status: 'rejected', reason: { code: 'unavailable', message: 'disk refuses bad' } },
      { status: 'rejected', reason: { code: 'conflict' } },
      { status: 'fulfilled', value: 'b' },
    ])
    expect(medium.transactions.flat()).toEqual(['a', 'b'])
  })

  it('undoes a commit that fails, and says so when it fails again', async () => {
    const { medium, submit, committed } = setUp()
    medium.failCommits = 1
    expect(await Promise.all([submit('a'), submit('b')])).toEqual(['a', 'b'])
    medium.failCommits = 1
    await expect(submit('c')).rejects.toMatchObject({ code: 'unavailable', message: 'disk is full' })
    expect(committed).toEqual(['a', 'b'])
    expect(medium.transactions.flat()).toEqual(['a', 'b'])
  })

  it('waits for a lock and keeps the order, with what arrived meanwhile', async () => {
    const { medium, submit } = setUp()
    medium.locked = 3
    const first = submit('a')
    await new Promise((resolve) => setImmediate(resolve))
    const second = submit('b')
    expect(await Promise.all([first, second])).toEqual(['a', 'b'])
    expect(medium.transactions).toEqual([['a', 'b']])
  })

  it('gives up when the lock outlasts its patience, and works again afterwards', async () => {
    const { medium, submit } = setUp(0)
    medium.locked = 1
    await expect(submit('a')).rejects.toMatchObject({ code: 'unavailable' })
    expect(await submit('b')).toBe('b')
    expect(medium.transactions).toEqual([['b']])
  })

  it('takes a write out of the queue when its signal fires', async () => {
    const { medium, submit } = setUp()
    const controller = new AbortController()
    const outcomes = Promise.allSettled([
      submit('a', controller.signal),
      submit('b', controller.signal),
      submit('c'),
    ])
    controller.abort()
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    expect(medium.transactions).toEqual([['c']])
  })
})
