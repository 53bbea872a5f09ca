import { expect, test } from 'vitest'
import { effectFacts } from '#renderer/features/models/ModelPage.tsx'

test('what rounding does reads as facts', () => {
  const facts = effectFacts({
    precision: 'int8',
    tokens: 1016,
    loss: -0.00072,
    mean: 0.01463,
    largest: 0.6634,
    divergence: 0.00019,
    samplerGap: 0.0066,
    exactBytes: 6_291_456,
    roundedBytes: 1_622_016,
  })
  expect(facts).toEqual([
    ['Matrices', expect.stringMatching(/^1\.6\d? MB \(25\.8 % of f32\)$/)],
    ['Mean difference', '0.015'],
    ['Largest', '0.66'],
    ['Texts less likely by', '−0.00072'],
    ['KL divergence', '0.00019'],
    ['Sampler and learner', '0.0066'],
  ])
})
