import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import {
  estimateEvaluation,
  estimateStep,
  evaluationsOf,
  type StepMeasures,
} from '#rl/training/stepEstimate.ts'

const config = parseRunConfig({
  model: 'm',
  data: { train: 'rows.jsonl' },
  rewards: [{ function: 'exact-match' }],
  rollout: { promptsPerStep: 8, groupSize: 4 },
  optimization: { epochs: 2 },
})

/** A group of 4: 1 s for the prompt of 100 tokens, 9 s for its tokens. */
const measures: StepMeasures = {
  isActing: true,
  groupSize: 4,
  longestPrompt: 100,
  meanPrompt: 50,
  rowTokens: 150,
  decoding: { promptSeconds: 1, slowdown: 2, batchRows: 16 },
  seconds: { generating: 10, scoring: 0.5, forward: 3, update: 6 },
  learnedTokens: 600,
}

test('prompts one after the other, tokens of many completions together, all tokens learned per epoch', () => {
  // 8 prompts of half the length; two rounds of 16 at double the time; 32 rows of 100 tokens at (3 + 2·6)/600 s.
  const expected = 8 * 0.5 + 2 * 18 + 8 * 0.5 + (32 * 100 * 15) / 600
  const estimate = estimateStep(config, measures)
  expect(estimate.expected).toBeCloseTo(expected)
  expect(estimate.high).toBeCloseTo(Math.max(1.5 * expected, 8 * 10 + 4 + (32 * 150 * 15) / 600))
  expect(estimate.low).toBeCloseTo(0.75 * expected)
})

test('with rollouts ahead of learning a step takes as long as the slower of the two', () => {
  const ahead = { ...config, rollout: { ...config.rollout, maxStaleness: 1 } }
  const collected = 8 * 0.5 + 2 * 18 + 8 * 0.5
  const learned = (32 * 100 * 15) / 600
  expect(learned).toBeGreaterThan(collected)
  expect(estimateStep(ahead, measures).expected).toBeCloseTo(learned)
  const slowServers = { ...measures, seconds: { ...measures.seconds, generating: 100 } }
  const generated = 8 * 0.5 + 2 * 99 * 2 + 8 * 0.5
  expect(estimateStep(ahead, slowServers)).toEqual({
    expected: expect.closeTo(generated) as number,
    low: expect.closeTo(0.75 * generated) as number,
    high: estimateStep(config, slowServers).high,
  })
  // Given answers are not generated, so nothing runs beside their learning.
  const given = { ...measures, isActing: false }
  expect(estimateStep(ahead, given)).toEqual(estimateStep(config, given))
})

test('held-out rows are answered once each; given answers are only read', () => {
  expect(estimateEvaluation(16, measures)).toBeCloseTo((16 / 4) * 0.5 + 18 + (16 * 0.5) / 4)
  expect(estimateEvaluation(16, { ...measures, isActing: false })).toBeCloseTo((16 * 100 * 6) / 600 / 3)
})

test('evaluations: before, every so many steps, at the end', () => {
  expect([evaluationsOf(30, 10), evaluationsOf(31, 10), evaluationsOf(4, 0), evaluationsOf(1, 1)]).toEqual([
    4, 5, 2, 2,
  ])
})
