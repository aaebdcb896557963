import { expect, it } from 'vitest'
import { modelCost } from '../cost/model-cost.ts'

it('the schemas and the section together stay under 1,500 tokens', () => {
  const cost = modelCost()
  console.info(JSON.stringify(cost))
  expect(cost['total']).toBeLessThan(1_500)
  expect(cost['orchestration:graph']).toBeGreaterThan(50)
})
