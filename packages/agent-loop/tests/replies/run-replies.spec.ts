import { describe, expect, it } from 'vitest'
import { randomOf, split } from '../support/random.ts'
import {
  blocks,
  called,
  delta,
  deltas,
  ended,
  failed,
  final,
  image,
  lines,
  messageEnd,
  reset,
  said,
  tell,
  textEnd,
  thought,
} from '../support/tale.ts'

const chunk = { minChars: 5, maxChars: 40 }

describe('the final of a run', () => {
  it('says each message once, in order, also when two are the same', () => {
    const replies = tell([said('Done.'), said('Done.', 2), ended])
    expect(lines(final(replies).payloads)).toEqual(['answer: Done.', 'answer: Done.'])
    expect(final(replies).payloads.map(({ message }) => message)).toEqual([1, 2])
  })

  it('comes after the end of the run, once, and nothing after it', () => {
    const replies = tell([said('Hi.'), ended, said('More.', 2), ended])
    expect(replies.filter(({ kind }) => kind === 'final')).toHaveLength(1)
    expect(replies.at(-1)?.kind).toBe('final')
  })

  it('has its payloads in order: error, tools, reasoning, answers', () => {
    const replies = tell(
      [thought('Hm.'), said('First.'), called('count'), said('Then.', 2), failed('QUOTA', 'No credit.')],
      { reasoning: 'on', verbose: true },
    )
    expect(lines(final(replies).payloads)).toEqual([
      'error: No credit.',
      'tool: count {"args":"a"}',
      'reasoning: Hm.',
      'answer: First.',
      'answer: Then.',
    ])
  })

  it('has neither tools nor reasoning unless they are wanted', () => {
    const replies = tell([thought('Hm.'), called('count'), said('Then.'), ended])
    expect(lines(final(replies).payloads)).toEqual(['answer: Then.'])
  })

  it('says an error once when the model said it, too', () => {
    const replies = tell([said('No credit.'), failed('QUOTA', 'No credit.')])
    expect(lines(final(replies).payloads)).toEqual(['error: No credit.'])
  })

  it('has no error for a run that a person stopped, and what it had said by then', () => {
    const replies = tell([delta('Half of'), failed('aborted', 'aborted by user', 'aborted')])
    expect(final(replies)).toMatchObject({ state: 'aborted' })
    expect(lines(final(replies).payloads)).toEqual(['answer: Half of'])
  })

  it('says that the time was over when nothing else was said', () => {
    const replies = tell([failed('run-timeout', 'the run passed its deadline of 5 ms', 'timed-out')])
    expect(lines(final(replies).payloads)).toEqual(['error: the run passed its deadline of 5 ms'])
  })
})

describe('blocks at the end of a text', () => {
  const options = { blocks: 'text_end', chunk } as const

  it('and no final when they said it all', () => {
    const replies = tell([said('First part.\n\nSecond part.'), ended], options)
    expect(blocks(replies)).toEqual(['answer: First part.', 'answer: Second part.'])
    expect(final(replies)).toMatchObject({ payloads: [], all: [{ text: 'First part.\n\nSecond part.' }] })
  })

  it('say a text once that its end repeats in full', () => {
    const text = 'Hello there, person.'
    const replies = tell([delta(text), textEnd(text), textEnd(text), messageEnd(text), ended], options)
    expect(blocks(replies)).toEqual([`answer: ${text}`])
    expect(final(replies).payloads).toEqual([])
  })

  it('say the rest of a text whose end came late, or never', () => {
    const text = 'Hello there, person.'
    const late = tell([delta('Hello '), messageEnd(text), textEnd(text), ended], options)
    expect(blocks(late)).toEqual([`answer: ${text}`])
    const never = tell([messageEnd(text), ended], options)
    expect(blocks(never)).toEqual([`answer: ${text}`])
    expect(final(never).payloads).toEqual([])
  })

  it('leave the whole message to the final when the model changed what it had said', () => {
    const replies = tell(
      [delta('Hallo there.\n\n'), textEnd('Hello there.'), messageEnd('Hello there.'), ended],
      options,
    )
    expect(blocks(replies)).toEqual(['answer: Hallo there.'])
    expect(lines(final(replies).payloads)).toEqual(['answer: Hello there.'])
  })

  it('come before the tool that the text announces', () => {
    const replies = tell([said('Let me look.'), called('look'), said('Seen.', 2), ended], {
      ...options,
      verbose: true,
    })
    expect(blocks(replies)).toEqual(['answer: Let me look.', 'tool: look {"args":"a"}', 'answer: Seen.'])
    expect(final(replies).payloads).toEqual([])
  })

  it('close and open a fence that is split', () => {
    const code = '```ts\nconst first = 1\nconst second = 2\n```'
    const replies = tell([said(code), ended], { ...options, chunk: { minChars: 5, maxChars: 30 } })
    expect(blocks(replies)).toEqual([
      'answer: ```ts\nconst first = 1\n```',
      'answer: ```ts\nconst second = 2\n```',
    ])
    expect(final(replies).payloads).toEqual([])
  })

  it('say what they had held back when the run is cut off, and the final does not say it again', () => {
    const replies = tell(
      [delta('First part.\n\nSecond pa'), failed('run-timeout', 'Too late.', 'timed-out')],
      options,
    )
    expect(blocks(replies)).toEqual(['answer: First part.', 'answer: Second pa'])
    expect(lines(final(replies).payloads)).toEqual(['error: Too late.'])
  })

  it('say an image once, and one without text', () => {
    const replies = tell(
      [messageEnd('', 1, [image('a')]), messageEnd('Look.', 2, [image('b')]), ended],
      options,
    )
    expect(blocks(replies)).toEqual(['answer:  +1', 'answer: Look.', 'answer:  +1'])
    expect(final(replies).payloads).toEqual([])
  })

  it('do not say again what a repeated request begins with', () => {
    const replies = tell(
      [delta('First part.\n\nSecond'), reset(), said('First part.\n\nSecond part, new.'), ended],
      options,
    )
    expect(blocks(replies)).toEqual(['answer: First part.', 'answer: Second part, new.'])
    expect(replies.some(({ kind }) => kind === 'reset')).toBe(true)
    expect(final(replies).payloads).toEqual([])
  })

  it('and the final say the text together, for random texts and pieces', () => {
    for (let seed = 0; seed < 300; seed += 1) {
      const random = randomOf(seed)
      const word = () => random.pick(['word', 'wörter', '😀', 'a. ', '\n', '\n\n', ' ', 'NO_'])
      const text = Array.from({ length: random.int(60) }, word).join('')
      const pieces = split(text, random, 5)
      const replies = tell([pieces.map((piece) => delta(piece)), messageEnd(text), ended], options)
      const bare = (value: string): string => value.replace(/\s/g, '')
      const told = [...blocks(replies), ...lines(final(replies).payloads)]
      const sentAll = told.map((line) => bare(line.replace('answer: ', ''))).join('')
      expect(sentAll, `seed ${seed}`).toBe(bare(text))
    }
  })
})

describe('blocks at the end of a message', () => {
  const options = { blocks: 'message_end', chunk } as const

  it('are sent when it is complete, and cut only where they are too long', () => {
    const replies = tell([said('One.\n\nTwo.\n\nThree.'), ended], options)
    const before = replies.findIndex(({ kind }) => kind === 'block')
    expect(deltas(replies.slice(0, before)).at(-1)).toBe('One.\n\nTwo.\n\nThree.')
    expect(blocks(replies)).toEqual(['answer: One.\n\nTwo.\n\nThree.'])
    const long = tell([said('word '.repeat(15)), ended], options)
    expect(blocks(long)).toHaveLength(2)
    expect(final(long).payloads).toEqual([])
  })
})

describe('a model that has nothing to say', () => {
  const surfaces = [
    {},
    { blocks: 'text_end' as const, chunk: { minChars: 1, maxChars: 20 } },
    { blocks: 'message_end' as const },
    { reasoning: 'on' as const, verbose: true },
  ]

  it('is silent on every surface, from the first letter on', () => {
    for (const options of surfaces) {
      const replies = tell([said('NO_REPLY'), ended], options)
      expect(replies).toEqual([{ kind: 'final', runId: 'r', state: 'ok', payloads: [], all: [] }])
    }
  })

  it('is taken off a text that says something all the same', () => {
    for (const options of surfaces) {
      const replies = tell([said('All done.\n\nNO_REPLY'), ended], options)
      const told = [...blocks(replies), ...lines(final(replies).payloads)]
      expect(told).toEqual(['answer: All done.'])
      for (const text of deltas(replies)) expect('All done.'.startsWith(text.trim())).toBe(true)
    }
  })

  it('may use another word for it', () => {
    const replies = tell([said('PASS'), said('NO_REPLY', 2), ended], { silentToken: 'PASS' })
    expect(lines(final(replies).payloads)).toEqual(['answer: NO_REPLY'])
  })
})

describe('reasoning', () => {
  it('is a stream of its own when wanted, and no payload', () => {
    const replies = tell([thought('Hm. '), said('Yes.'), ended], { reasoning: 'stream' })
    expect(replies[0]).toEqual({ kind: 'thinking', runId: 'r', message: 1, text: 'Hm. ' })
    expect(lines(final(replies).payloads)).toEqual(['answer: Yes.'])
  })

  it('that is written into the text never shows there', () => {
    const replies = tell([said('<think>Hm.</think>Yes, `<think>` is a tag.'), ended], { reasoning: 'on' })
    for (const text of deltas(replies)) expect(text).not.toContain('Hm')
    expect(lines(final(replies).payloads)).toEqual(['reasoning: Hm.', 'answer: Yes, `<think>` is a tag.'])
  })

  it('of a request that is repeated is forgotten', () => {
    const replies = tell([thought('Wrong.'), delta('No'), reset(), thought('Right.'), said('Yes.'), ended], {
      reasoning: 'on',
    })
    expect(lines(final(replies).payloads)).toEqual(['reasoning: Right.', 'answer: Yes.'])
  })
})

describe('what a messaging tool sent', () => {
  const sent = (text: string, more: object = {}) => called('send', { receipt: { text, ...more } })

  it('is not said again, nor a part of it', () => {
    const replies = tell([
      said(''),
      sent('Dinner is at EIGHT 🎉'),
      said('Dinner is  at eight', 2),
      said('Bye for now!', 3),
      ended,
    ])
    expect(lines(final(replies).payloads)).toEqual(['answer: Bye for now!'])
  })

  it('does not stand for a longer answer that quotes it', () => {
    const answer = 'I sent "Dinner is at eight" to everybody who had asked.'
    const replies = tell([sent('Dinner is at eight'), said(answer, 2), ended])
    expect(lines(final(replies).payloads)).toEqual([`answer: ${answer}`])
  })

  it('does not stand for a short answer that happens to be in it', () => {
    const replies = tell([sent('Dinner is at eight. Done.'), said('Done.', 2), ended])
    expect(lines(final(replies).payloads)).toEqual(['answer: Done.'])
  })

  it('to somebody else, or into another thread, is said to this person all the same', () => {
    for (const [target, theirs] of [
      ['chat', 'other'],
      ['chat:thread-1', 'chat:thread-2'],
      [undefined, 'other'],
    ]) {
      const replies = tell(
        [sent('Dinner is at eight', { target: theirs }), said('Dinner is at eight', 2), ended],
        target === undefined ? {} : { target },
      )
      expect(final(replies).payloads, `${target} ${theirs}`).toHaveLength(1)
    }
    const same = tell(
      [sent('Dinner is at eight', { target: 'chat' }), said('Dinner is at eight', 2), ended],
      {
        target: 'chat',
      },
    )
    expect(final(same).payloads).toEqual([])
  })

  it('is said by the answer when the sending failed, and not when it was repeated with success', () => {
    const text = 'Dinner is at eight'
    const failedOnly = tell([called('send', { failed: 'no network' }), said(text, 2), ended])
    expect(lines(final(failedOnly).payloads)).toEqual([`answer: ${text}`])
    const again = tell([called('send', { failed: 'no network' }), sent(text), said(text, 2), ended])
    expect(final(again).payloads).toEqual([])
  })

  it('is still known when the request is repeated behind a compaction', () => {
    const text = 'Dinner is at eight'
    const replies = tell([said(''), sent(text), delta('Dinner', 2), reset(2), said(text, 2), ended])
    expect(final(replies).payloads).toEqual([])
  })

  it('makes the confirmations behind it needless when it is the answer itself', () => {
    const replies = tell([
      said('I will write.'),
      sent('Hello!', { isAnswer: true }),
      said('Sent it.', 2),
      ended,
    ])
    expect(final(replies).payloads).toEqual([])
  })

  it('takes an image along that is not sent again, however its name is written', () => {
    const receipt = { text: 'Look at this', media: ['file://pictures/./a%20b.png'] }
    const replies = tell([
      called('send', { receipt }),
      messageEnd('', 2, [image('pictures/a b.png'), image('other.png')]),
      ended,
    ])
    expect(final(replies).payloads).toMatchObject([{ images: [{ id: 'other.png' }] }])
  })

  it('keeps blocks from saying it, too', () => {
    const replies = tell([sent('Dinner is at eight'), said('Dinner is at eight', 2), ended], {
      blocks: 'text_end',
    })
    expect(blocks(replies)).toEqual([])
    expect(final(replies).payloads).toEqual([])
  })
})

describe('the failure of a tool', () => {
  it('is told when there is nothing else to say', () => {
    const replies = tell([
      said(''),
      called('book', { failed: 'Error: no seats' }),
      said('NO_REPLY', 2),
      ended,
    ])
    expect(lines(final(replies).payloads)).toEqual(['error: The tool "book" failed: no seats'])
  })

  it('is not told beside an answer, an error, or a message that was sent', () => {
    const failure = called('book', { failed: 'no seats' })
    expect(lines(final(tell([failure, said('Sorry.'), ended])).payloads)).toEqual(['answer: Sorry.'])
    expect(lines(final(tell([failure, failed('X', 'Broken.')])).payloads)).toEqual(['error: Broken.'])
    const delivered = called('send', { receipt: { text: 'No seats, sorry.' } })
    expect(final(tell([failure, delivered, ended])).payloads).toEqual([])
  })

  it('is not told of a run that a person stopped', () => {
    const stopped = failed('aborted', 'aborted by user', 'aborted')
    expect(final(tell([called('book', { failed: 'aborted' }), stopped])).payloads).toEqual([])
  })

  it('is not told when the same call succeeded afterwards, or the model only had to correct itself', () => {
    expect(final(tell([called('book', { failed: 'no seats' }), called('book'), ended])).payloads).toEqual([])
    const other = tell([called('book', { failed: 'no seats' }), called('book', { args: 'b' }), ended])
    expect(final(other).payloads).toHaveLength(1)
    const wrong = called('book', { failed: 'arguments: seat is required', code: 'INVALID_ARGS' })
    expect(final(tell([wrong, ended])).payloads).toEqual([])
  })
})

describe('events that are gone', () => {
  const gap = { stream: 'gap', data: { reason: 'not-kept' } } as never

  it('are told, and the end of the message says what they said', () => {
    const text = 'One two three.'
    const replies = tell([delta('One '), gap, delta('three.'), messageEnd(text), ended], {
      blocks: 'text_end',
    })
    expect(replies.filter(({ kind }) => kind === 'gap')).toHaveLength(1)
    expect(blocks(replies)).toEqual([`answer: ${text}`])
    expect(final(replies).payloads).toEqual([])
  })

  it('at the beginning of a message do not make a text of its middle', () => {
    const replies = tell([gap, delta('three.'), ended])
    expect(deltas(replies)).toEqual([])
    expect(final(replies).payloads).toEqual([])
  })

  it('with the end of a message leave what was told of it', () => {
    const replies = tell([delta('Half of'), gap, delta('The next', 2), messageEnd('The next one.', 2), ended])
    expect(lines(final(replies).payloads)).toEqual(['answer: Half of', 'answer: The next one.'])
  })
})
