import { describe, expect, test } from 'vitest'
import { groupRuns } from '#renderer/features/compare/groups.ts'
import { rewardFiles } from '#renderer/features/compare/Differences.tsx'
import {
  differingKeys,
  flatSettings,
  settingRows,
  shortSetting,
  withLibraryNames,
  withHistory,
} from '#renderer/features/compare/settingDiff.ts'

const config = (more: object = {}) => ({
  name: 'x',
  seed: 1,
  optimization: { learningRate: 0.001 },
  rewards: [{ function: 'length', weight: 1, name: 'short' }],
  environment: null,
  stages: [],
  ...more,
})

describe('settings', () => {
  test('one that changed within a run has all its values, and so differs from a run without', () => {
    const plain = flatSettings(config())
    const changes = [{ step: 40, key: 'optimization.learningRate', from: 0.001, to: 0.0001 }]
    const changed = withHistory(plain, changes)
    expect(changed.get('optimization.learningRate')).toBe('0.001, after step 40: 0.0001')
    expect(differingKeys([plain, changed])).toEqual(['optimization.learningRate'])
    expect(withHistory(plain, [])).toEqual(plain)
  })

  test('a data set has its name in the place of its digest, and versions differ', () => {
    const [first, second] = ['a'.repeat(64), 'b'.repeat(64)]
    const names = new Map([
      [first, 'sums, version 1'],
      [second, 'sums, version 2'],
    ])
    const of = (train: string) => withLibraryNames(flatSettings(config({ data: { train } })), names)
    const runs = [of(`/data/datasets/${first}`), of(`C:\\data\\${second}`), of('/elsewhere/rows.jsonl')]
    expect(runs.map((run) => run.get('data.train'))).toEqual([...names.values(), '/elsewhere/rows.jsonl'])
    expect(differingKeys(runs.slice(0, 2))).toEqual(['data.train'])
  })

  test('a reward of the library is called by its name, its versions by their digests', () => {
    const names = new Map([['rw_01a2', 'Right number']])
    const of = (file: string) =>
      withLibraryNames(flatSettings(config({ rewards: [{ function: file, name: 'short' }] })), names)
    const files = ['a', 'b'].map((digit) => `/data/rewards/rw_01a2/${digit.repeat(64)}.ts`)
    const runs = [...files, `${files[0] ?? ''}#strict`, '/data/rewards/rw_gone/x.ts'].map(of)
    expect(runs.map((run) => run.get('rewards.short.function'))).toEqual([
      'Right number (aaaaaaaa)',
      'Right number (bbbbbbbb)',
      'Right number#strict (aaaaaaaa)',
      '/data/rewards/rw_gone/x.ts',
    ])
  })

  test('leaves by dotted name; entries of lists by theirs', () => {
    expect([...flatSettings(config())]).toEqual([
      ['name', 'x'],
      ['seed', 1],
      ['optimization.learningRate', 0.001],
      ['rewards.short.function', 'length'],
      ['rewards.short.weight', 1],
      ['rewards.short.name', 'short'],
      ['environment', null],
      ['stages', 'none'],
    ])
  })

  test('only what differs, and never the name', () => {
    const runs = [
      config(),
      config({ name: 'y', seed: 2 }),
      config({ optimization: { learningRate: 0.001, beta1: 0.9 } }),
    ]
    expect(differingKeys(runs.map(flatSettings))).toEqual(['seed', 'optimization.beta1'])
    const beta = settingRows(runs.map(flatSettings)).find(({ key }) => key === 'optimization.beta1')
    expect(beta?.values).toEqual([undefined, undefined, 0.9])
  })

  test('paths by their end', () => {
    expect(shortSetting('/home/me/data/sums/train.jsonl')).toBe('…/sums/train.jsonl')
    expect(shortSetting('C:\\data\\train.jsonl')).toBe('…/data/train.jsonl')
    expect([shortSetting(undefined), shortSetting(null), shortSetting('')]).toEqual(['–', 'none', '(empty)'])
  })
})

describe('groups', () => {
  const run = (id: string, label: string, more: object) => ({
    id,
    label,
    settings: flatSettings(config(more)),
  })
  const runs = [
    run('a', 'base-1', { seed: 1 }),
    run('b', 'base-2', { seed: 2, name: 'other' }),
    run('c', 'fast', { optimization: { learningRate: 0.1 } }),
  ]

  test('by seed: all else is the same', () => {
    expect(groupRuns(runs, 'seed')).toEqual([
      { id: 'group a', label: 'base · 2 seeds', runIds: ['a', 'b'] },
      { id: 'group c', label: 'fast', runIds: ['c'] },
    ])
  })

  test('names that have nothing in common: what sets the group apart', () => {
    const [first] = groupRuns([run('a', 'monday', {}), run('b', 'friday', { seed: 2 }), runs[2]!], 'seed')
    expect(first?.label).toBe('Learning rate 0.001 · 2 seeds')
  })

  test('by a setting', () => {
    expect(groupRuns(runs, 'optimization.learningRate').map(({ label, runIds }) => [label, runIds])).toEqual([
      ['Learning rate 0.001', ['a', 'b']],
      ['Learning rate 0.1', ['c']],
    ])
  })
})

test('rewards by the name charts have', () => {
  const text = JSON.stringify({
    rewards: [
      { function: '/d/rewards/ab12.ts#exact' },
      { function: '/d/rewards/ab12.ts', name: 'all' },
      { function: 'exact-match' },
    ],
  })
  expect([...rewardFiles(text, { exact: 'd1' })]).toEqual([
    ['exact', { file: '/d/rewards/ab12.ts', digest: 'd1' }],
    ['all', { file: '/d/rewards/ab12.ts', digest: '/d/rewards/ab12.ts' }],
    ['exact-match', { file: 'exact-match', digest: 'exact-match' }],
  ])
})
