import { expect, test } from 'vitest'
import { learningTokens } from '#engine/runtime/packedBatch.ts'

test.each([
  { intermediateSize: 4864, threads: 1, tokens: 512 },
  { intermediateSize: 1408, threads: 2, tokens: 1024 },
  { intermediateSize: 512, threads: 2, tokens: 4096 },
  { intermediateSize: 64, threads: 1, tokens: 2048 },
  { intermediateSize: 1408, threads: 16, tokens: 2048 },
])('$threads threads learn from $tokens tokens of width $intermediateSize', ({ tokens, ...given }) => {
  expect(learningTokens(given, given)).toBe(tokens)
})

test.each([
  [192, 1, 2048],
  [1408, 2, 512],
  [4864, 1, 256],
])('takes half as many in whole numbers (%i wide, %i threads)', (intermediateSize, threads, tokens) => {
  expect(learningTokens({ intermediateSize }, { threads }, true)).toBe(tokens)
})
