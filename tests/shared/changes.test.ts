import { describe, expect, test } from 'vitest'
import {
  changeWords,
  fixedProblems,
  historyWords,
  nextChange,
  readChanges,
  settingsAfter,
  whyFixed,
  withMadeChanges,
  type SettingChange,
} from '#shared/config/changes.ts'
import { leaves } from '#shared/config/paths.ts'
import { parseRunConfig } from '#shared/runConfig.ts'

const rate = (step: number, from: number, to: number): SettingChange => ({
  step,
  key: 'optimization.learningRate',
  from,
  to,
})
const steps = (step: number, from: number, to: number): SettingChange => ({ step, key: 'steps', from, to })
const config = { steps: 100, optimization: { learningRate: 1 } }

test('a log changes only what can change', () => {
  const made = (key: string): SettingChange => ({ step: 1, key, from: null, to: null })
  const wanted = ['steps', 'algorithm.settings.klCoefficient', 'rewardLimits.callMs']
  const others = [
    'environment',
    'environment.function',
    'rewards',
    'optimization',
    'python.interpreter',
    '__proto__.x',
  ]
  expect(readChanges({ changes: [...wanted, ...others].map(made) })).toEqual(wanted.map(made))
})

describe('settings after a step', () => {
  const changes = [rate(10, 1, 2), steps(20, 100, 50), rate(30, 2, 3)]

  test('follow from the config and the changes up to there', () => {
    const after = (step: number) => settingsAfter(config, changes, step)
    expect(after(9)).toEqual(config)
    expect(after(10)).toEqual({ steps: 100, optimization: { learningRate: 2 } })
    expect(after(29)).toEqual({ steps: 50, optimization: { learningRate: 2 } })
    expect(after(Infinity)).toEqual({ steps: 50, optimization: { learningRate: 3 } })
    expect([0, 10, 29, 30].map((step) => nextChange(changes, step))).toEqual([10, 20, 30, null])
  })

  test('a change from before others of the same setting gives those up, and no others', () => {
    expect(withMadeChanges(changes, 15, [rate(15, 2, 9)])).toEqual([
      rate(10, 1, 2),
      rate(15, 2, 9),
      steps(20, 100, 50),
    ])
    expect(withMadeChanges(changes, 15, [rate(15, 2, 2)])).toEqual([rate(10, 1, 2), steps(20, 100, 50)])
  })

  test('a change at the step of an earlier one replaces it, and one back to before takes it away', () => {
    expect(withMadeChanges(changes, 30, [rate(30, 2, 4)])).toEqual([...changes.slice(0, 2), rate(30, 2, 4)])
    expect(withMadeChanges(changes, 30, [rate(30, 2, 2)])).toEqual(changes.slice(0, 2))
  })
})

test('every setting either changes within a run or says why it cannot', () => {
  const rollout = {
    workflow: { function: 'w.ts' },
    server: { kind: 'vllm', url: 'http://localhost:8000', adapterFolder: '/a' },
  }
  const whole = parseRunConfig({ model: 'm', data: { train: 't' }, environment: { function: 'e' }, rollout })
  const found = [...leaves(whole)].map(([key]) => key)
  const open = found.filter((key) => whyFixed(key) === null)
  expect(found.length).toBeGreaterThan(80)
  expect(open.toSorted()).toMatchInlineSnapshot(`
    [
      "checkpoints.diskBudgetMb",
      "checkpoints.every",
      "checkpoints.keepBest",
      "checkpoints.keepEvery",
      "checkpoints.keepLast",
      "diagnosis.stopOn",
      "evaluation.every",
      "optimization.criticLearningRate",
      "optimization.learningRate",
      "optimization.maxGradNorm",
      "optimization.memory",
      "optimization.schedule",
      "optimization.tokenBudget",
      "optimization.unsoundUpdates",
      "optimization.warmupProportion",
      "optimization.weightDecay",
      "optimization.zeroAdvantages",
      "passes",
      "rewardLimits.batchMs",
      "rewardLimits.callMs",
      "rewardLimits.memoryMb",
      "rollout.maxNewTokens",
      "rollout.maxStaleness",
      "rollout.minNewTokens",
      "rollout.minP",
      "rollout.mismatchCap",
      "rollout.mismatchCorrection",
      "rollout.mismatchMode",
      "rollout.repetitionPenalty",
      "rollout.replayShare",
      "rollout.replaySolvedAt",
      "rollout.replayTries",
      "rollout.stopStrings",
      "rollout.temperature",
      "rollout.topK",
      "rollout.topP",
      "shownTrajectories",
      "steps",
      "tensorboard",
      "wandb",
    ]
  `)
})

test('what cannot change is a problem of that setting', () => {
  const problems = (changes: object, given: object = config) =>
    fixedProblems({ ...given }, { ...changes }).map(({ path, message }) => `${path}: ${message}`)
  expect(
    problems({ 'optimization.learningRate': 2, 'algorithm.settings.klCoefficient': 1, nonsense: 1 }),
  ).toEqual([])
  expect(problems({ 'adapter.rank': 8, 'rollout.groupSize': 4, optimization: {} })).toEqual([
    'adapter.rank: it cannot change within a run: the adapter and the moments of its optimizer have this form.',
    'rollout.groupSize: it cannot change within a run: baselines and advantages are computed over groups of this size.',
    'optimization: it cannot change within a run: name the settings in it one by one.',
  ])
  expect(problems({ steps: 8 }, { stages: [{}] })).toHaveLength(1)
  const rate = { 'optimization.learningRate': 2 }
  expect(problems(rate, { engine: { kind: 'local' } })).toEqual([])
  expect(problems(rate, { engine: { kind: 'trl' } })).toHaveLength(1)
})

test('changes are told in words', () => {
  expect(changeWords(rate(10, 1, 2))).toBe('optimization.learningRate 1 → 2 after step 10')
  expect(historyWords([rate(10, 1, 2), rate(30, 2, 3)])).toBe('1, after step 10: 2, after step 30: 3')
  expect(changeWords({ step: 3, key: 'optimization.maxGradNorm', from: null, to: 1 })).toContain('none → 1')
})
