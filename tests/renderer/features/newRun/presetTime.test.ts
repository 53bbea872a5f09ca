import { describe, expect, test } from 'vitest'
import { measuredByRun, presetSeconds, presetsFor } from '#renderer/features/newRun/presets.ts'

const metrics = ['step_time', 'num_tokens', 'completions/mean_length', 'eval_time']
const row = (step: number, ...values: (number | null)[]) => ({ step, values })
const rollout = { promptsPerStep: 2, groupSize: 4 } as Parameters<typeof measuredByRun>[1]['rollout']
const facts = { groupSize: 8, source: 'the run “x”' }
/** 8 completions of 10 tokens after prompts of 40: 400 tokens in 2 s, after a first step that also prepares. */
const rows = [row(1, 30, 400, 10, null), row(2, 2, 800, 10, 5), row(3, 2, 1200, 10, null)]

describe('time of a preset', () => {
  test('what a run took for each token', () => {
    const measured = measuredByRun({ metrics, rows, nextStep: null }, { rollout }, facts)
    expect(measured).toEqual({
      secondsPerToken: 2 / 400,
      promptTokens: 40,
      completionTokens: 10,
      secondsPerEvaluation: 5,
      source: 'the run “x”',
    })
  })

  test('from completions as long as they were to completions at the limit, with evaluations', () => {
    const measured = measuredByRun({ metrics, rows, nextStep: null }, { rollout }, facts)
    const [quick] = presetsFor(
      { parameters: 135e6, contextLength: 8192 },
      {
        experience: 'rollout',
        groupSize: { default: 8, minimum: 2 },
      },
    )
    // 10 steps of 4 × 4 completions of up to 64 tokens, evaluated before and every 5 steps.
    expect(presetSeconds(quick!, measured!)).toEqual({
      low: 160 * 50 * 0.005 + 15,
      high: 160 * 104 * 0.005 + 15,
    })
  })

  test('a run of one step, without tokens or without completions says nothing', () => {
    const read = (some: typeof rows, names = metrics) =>
      measuredByRun({ metrics: names, rows: some, nextStep: null }, { rollout }, facts)
    expect(read(rows.slice(0, 1))).toBeNull()
    expect(read([])).toBeNull()
    expect(read(rows, ['step_time', 'num_tokens', 'loss', 'eval_time'])).toBeNull()
  })
})
