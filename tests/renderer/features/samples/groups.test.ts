import { describe, expect, test } from 'vitest'
import {
  advantageReach,
  distinctWords,
  groupsOf,
  neighbour,
  promptWords,
  rewardRange,
  rewardText,
  stepShown,
  type Sample,
} from '#renderer/features/samples/groups.ts'

const sample = (values: Partial<Sample>): Sample => ({
  ...{
    id: 1,
    runId: 'run',
    step: 1,
    source: 'rollout',
    row: 0,
    dataRow: 0,
    position: 0,
    prompt: 'p',
    completion: 'c',
  },
  ...{ reward: 1, parts: {}, advantage: null, tokens: 3, stopReason: 'stop-id', logged: {}, failures: [] },
  hasArrays: true,
  ...values,
})

describe('groupsOf', () => {
  test('puts the completions of one prompt and step together, the newest step first', () => {
    const groups = groupsOf([
      sample({ id: 5, step: 2, row: 9, position: 3, reward: 0 }),
      sample({ id: 4, step: 2, row: 9, position: 2, reward: 1 }),
      sample({ id: 3, step: 2, row: 4, position: 0 }),
      sample({ id: 2, step: 1, row: 9, position: 0 }),
      sample({ id: 6, step: 2, row: 9, position: 0, source: 'evaluation' }),
    ])
    expect(groups.map(({ key, samples }) => [key, samples.map(({ id }) => id)])).toEqual([
      ['2:evaluation:9', [6]],
      ['2:rollout:4', [3]],
      ['2:rollout:9', [4, 5]],
      ['1:rollout:9', [2]],
    ])
    expect(groups[2]?.meanReward).toBe(0.5)
  })

  test('a row has the number that Data shows, and where that cannot be told says what it counts', () => {
    expect(groupsOf([sample({ row: 138, dataRow: 153 })])[0]?.rowWords).toBe('row 154')
    expect(groupsOf([sample({ row: 138, dataRow: null })])[0]?.rowWords).toBe('training row 139')
    const evaluated = sample({ row: 138, dataRow: null, source: 'evaluation' })
    expect(groupsOf([evaluated])[0]?.rowWords).toBe('validation row 139')
  })

  test('a group that was not scored has no mean', () => {
    expect(groupsOf([sample({ reward: null })])[0]?.meanReward).toBeNull()
  })
})

test('bars of all prompts have one scale with 0 in it', () => {
  expect(rewardRange(groupsOf([sample({ reward: -1 }), sample({ id: 2, row: 1, reward: 0.5 })]))).toEqual([
    -1, 0.5,
  ])
  expect(rewardRange([])).toEqual([0, 1])
  expect(advantageReach([sample({ advantage: -3 }), sample({ advantage: 2 })])).toBe(3)
})

describe('promptWords', () => {
  test.each([
    ['<|user|>Please add 42 and 45<|end|><|assistant|>', 'Please add 42 and 45'],
    ['<|im_start|>user\nWhat is 2?<|im_end|>\n<|im_start|>assistant\n', 'What is 2?'],
    ['<s>[INST] Sort 3 1 [/INST]', 'Sort 3 1'],
    ['<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>', 'Hi'],
    ['a < b and c > d', 'a < b and c > d'],
    ['<|end|>', '<|end|>'],
  ])('%s', (prompt, words) => expect(promptWords(prompt)).toBe(words))

  test('what all prompts begin with is left out', () => {
    const start = 'You are a careful assistant who thinks. '
    expect(distinctWords([`${start}Add 1 and 2`, `${start}Add 3`])).toEqual(['… 1 and 2', '… 3'])
    expect(distinctWords(['Add 1', 'Add 2'])).toEqual(['Add 1', 'Add 2'])
  })
})

test('rewards stand one under the other', () => {
  expect([1, -0.5, null, 0.333].map(rewardText)).toEqual(['1.00', '−0.50', 'none', '0.33'])
})

test('the step shown is one that has samples', () => {
  expect(stepShown([1, 5, 9], null)).toBe(9)
  expect(stepShown([1, 5, 9], 7)).toBe(5)
  expect(stepShown([3], 1)).toBe(3)
  expect(stepShown([], 4)).toBeNull()
})

test('neighbours end where the list ends', () => {
  expect([neighbour([1, 2], 0, 1), neighbour([1, 2], 1, 1), neighbour([1, 2], -1, 1)]).toEqual([
    2,
    undefined,
    1,
  ])
})
