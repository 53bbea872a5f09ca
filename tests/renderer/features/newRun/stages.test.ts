import { describe, expect, test } from 'vitest'
import { configText, parseConfigText } from '#renderer/features/newRun/draft.ts'
import {
  algorithmsOf,
  movedStage,
  newStage,
  plannedStages,
  stagePlans,
  stagesOf,
  withStage,
  withStages,
} from '#renderer/features/newRun/stages.ts'
import {
  batchWords,
  dataWords,
  lengthWords,
  modelWords,
  rewardWords,
  suggestedName,
  type Known,
} from '#renderer/features/newRun/summaries.ts'
import { algorithmEntries } from '../../algorithmEntries.ts'
import { parseRunConfig } from '#shared/runConfig.ts'

const small = { model: 'starter', data: { train: '/data/ds_1/rows' }, rewards: [{ function: 'exact-match' }] }
const known: Known = {
  models: [{ name: 'starter', directory: '/app/starter' }],
  dataSets: [
    { name: 'sums', versions: [{ id: 'v', directory: '/data/ds_1/rows', rows: 1500, columns: [] }] },
  ],
  rewards: [{ id: 'rw_1', name: 'right digits' }],
  algorithms: algorithmEntries,
}

describe('stages', () => {
  test('every plan is a config', () => {
    for (const plan of stagePlans) {
      const config = withStages(small, plannedStages(plan, 30))
      expect(parseRunConfig(config).stages).toHaveLength(plan.stages.length)
      expect(algorithmsOf(config)).toEqual(plan.stages.map(({ algorithm }) => algorithm))
    }
  })

  test('are moved, changed and taken away', () => {
    const stages = ['a', 'b', 'c'].map((name) => newStage('grpo', name, 5))
    const names = (list: readonly Record<string, unknown>[]) => list.map(({ name }) => name)
    expect(names(movedStage(stages, 2, 0))).toEqual(['c', 'a', 'b'])
    expect(names(movedStage(stages, 0, -1))).toEqual(['a', 'b', 'c'])
    expect(withStage(stages, 1, newStage('sft', 'x', 2))[1]).toMatchObject({ name: 'x', steps: 2 })
    expect(withStages({ ...small, stages }, [])).toEqual(small)
    expect(stagesOf({ stages: 'no' })).toEqual([])
  })
})

describe('steps in one line', () => {
  test('what is not chosen has none', () => {
    expect([modelWords({}, known), dataWords({}, known), rewardWords({}, known)]).toEqual([null, null, null])
  })

  test('names are those that people gave', () => {
    expect(modelWords({ model: '/app/starter' }, known)).toBe('starter')
    expect(modelWords({ model: '/models/other/' }, known)).toBe('other')
    expect(dataWords({ data: { train: '/data/ds_1/rows', heldOut: { share: 0.1 } } }, known)).toBe(
      'sums · 1 500 rows · 10 % validation',
    )
    expect(dataWords({ data: { train: { episodes: 1 } } }, known)).toBe('1 episode of the environment')
    const rewards = [{ function: '/r/rw_1/abc.ts', weight: 0.8 }, { function: '/r/own.ts#brevity' }]
    expect(rewardWords({ rewards }, known)).toBe('0.8 × right digits + brevity')
    expect(rewardWords({ algorithm: { id: 'sft' } }, known)).toContain('Not needed')
    expect(rewardWords({ algorithm: { id: 'distillation' } }, known)).toContain('Not needed: a teacher')
    const chain = ['sft', 'distillation'].map((id) => ({ algorithm: { id } }))
    expect(rewardWords({ stages: chain }, known)).toContain('Not needed: a teacher')
    expect(rewardWords({ stages: [...chain, { algorithm: { id: 'grpo' } }] }, known)).toBeNull()
    const [own] = known.algorithms.filter(({ id }) => id === 'grpo')
    const algorithms = [{ ...own!, id: '/losses/own.js', needsRewards: false }]
    expect(rewardWords({ algorithm: { id: '/losses/own.js' } }, { ...known, algorithms })).toBe(
      'Not needed: the loss reads none',
    )
  })

  test('length and batch', () => {
    expect(lengthWords({ steps: 1 })).toBe('1 step')
    expect(lengthWords({ passes: 2 })).toBe('2 passes over the rows')
    expect(lengthWords({ stages: [{ steps: 5 }, { steps: 7 }] })).toBe('12 steps')
    expect(batchWords({}, known)).toBe('8 prompts × 8 completions')
    expect(batchWords({ algorithm: { id: 'sft' }, rollout: { promptsPerStep: 3 } }, known)).toBe('3 rows')
    expect(suggestedName(small, known)).toBe('GRPO · starter · sums')
  })
})

describe('the config as text', () => {
  test('is read back as it was', () => {
    expect(parseConfigText(configText(small))).toEqual(small)
  })

  test('what is no JSON object is refused in words', () => {
    expect(() => parseConfigText('{ "a": }')).toThrow(/This is not JSON\. .+/)
    expect(() => parseConfigText('[1]')).toThrow('A config file is one JSON object.')
  })
})
