import { expect, it } from 'vitest'
import { LaneMoves } from '../src/lane-moves.ts'

const settled = () => new Promise((resolve) => setImmediate(resolve))

it('tells once for all that happens in one go, and not after the undo', async () => {
  const moves = new LaneMoves(() => undefined)
  let told = 0
  const undo = moves.watch(() => void (told += 1))
  moves.moved()
  moves.moved()
  expect(told).toBe(0)
  await settled()
  expect(told).toBe(1)
  moves.moved()
  undo()
  await settled()
  expect(told).toBe(1)
})

it('keeps the failure of one watcher from the others', async () => {
  const warnings: string[] = []
  const moves = new LaneMoves((text) => void warnings.push(text))
  let told = 0
  moves.watch(() => {
    throw new Error('mine')
  })
  moves.watch(() => void (told += 1))
  moves.moved()
  await settled()
  expect([told, warnings]).toEqual([1, ['a watcher of lanes failed: Error: mine']])
})
