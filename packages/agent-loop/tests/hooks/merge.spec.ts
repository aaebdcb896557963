import { describe, expect, it } from 'vitest'
import { emptyFold, mergeAnswer, MERGE_RULES, type Fold } from '../../src/hooks/merge.ts'
import type { HookResults, ModifyingHookName } from '../../src/hooks/types.ts'

function fold<N extends ModifyingHookName>(
  hook: N,
  ...answers: readonly (readonly [plugin: string, answer: HookResults[N]])[]
): Fold<N> {
  let result = emptyFold<N>()
  for (const [plugin, answer] of answers) result = mergeAnswer(hook, result, answer, plugin)
  return result
}

describe('the merge rules', () => {
  it('are these', () => {
    const model = { providerOverride: 'first', modelOverride: 'first' }
    const prompt = {
      systemPrompt: 'first',
      prependSystemContext: 'join',
      appendSystemContext: 'join',
      prependContext: 'join',
      appendContext: 'join',
    }
    expect(MERGE_RULES).toEqual({
      before_model_resolve: model,
      before_prompt_build: prompt,
      before_agent_start: { ...model, ...prompt },
      before_tool_call: { params: 'last', block: 'sticky', blockReason: 'first', requireApproval: 'first' },
      message_sending: { content: 'last', cancel: 'sticky' },
    })
  })

  it('first: the first one that says something decides, field by field', () => {
    const { result } = fold(
      'before_model_resolve',
      ['a', { modelOverride: 'small' }],
      ['b', { modelOverride: 'big', providerOverride: 'other' }],
      ['c', { providerOverride: 'third' }],
    )
    expect(result).toEqual({ modelOverride: 'small', providerOverride: 'other' })
  })

  it('join: texts stand one after the other with a blank line between', () => {
    const { result } = fold(
      'before_prompt_build',
      ['a', { prependContext: 'one', systemPrompt: 'A' }],
      ['b', { prependContext: 'two', systemPrompt: 'B' }],
      ['c', {}],
      ['d', { prependContext: 'three', appendSystemContext: 'end' }],
    )
    expect(result).toEqual({
      prependContext: 'one\n\ntwo\n\nthree',
      systemPrompt: 'A',
      appendSystemContext: 'end',
    })
  })

  it('last: each replaces the value of the one before, and all are named', () => {
    const { result, changes } = fold(
      'before_tool_call',
      ['a', { params: { n: 1 } }],
      ['b', { params: { n: 2 } }],
    )
    expect(result).toEqual({ params: { n: 2 } })
    expect(changes).toEqual([
      { plugin: 'a', field: 'params' },
      { plugin: 'b', field: 'params' },
    ])
  })

  it('sticky: once true it stays, ends the asking, and false takes nothing back', () => {
    expect(fold('message_sending', ['a', { cancel: false }])).toMatchObject({ result: {}, isFinal: false })
    const cancelled = fold('message_sending', ['a', { cancel: true }], ['b', { cancel: false }])
    expect(cancelled).toMatchObject({ result: { cancel: true }, isFinal: true })
    const blocked = fold('before_tool_call', ['a', { block: true, blockReason: 'not today' }])
    expect(blocked).toMatchObject({ result: { block: true, blockReason: 'not today' }, isFinal: true })
  })

  it('a reason counts only beside its block', () => {
    const blocked = fold(
      'before_tool_call',
      ['a', { blockReason: 'only thinking' }],
      ['b', { block: true, blockReason: 'no' }],
    )
    expect(blocked.result).toEqual({ block: true, blockReason: 'no' })
  })

  it('a request for approval keeps the arguments from other plugins', () => {
    const ask = { requireApproval: { title: 'Really?' } }
    expect(() => fold('before_tool_call', ['a', ask], ['b', { params: {} }])).toThrow(/"a".*before a person/)
    const own = fold('before_tool_call', ['a', ask], ['a', { params: { n: 1 } }])
    expect(own.result).toEqual({ ...ask, params: { n: 1 } })
    const second = fold('before_tool_call', ['a', ask], ['b', { requireApproval: { title: 'Sure?' } }])
    expect(second.result).toEqual(ask)
  })
})
