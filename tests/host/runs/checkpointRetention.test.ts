import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import {
  bestCheckpoint,
  clearLaterCheckpoints,
  pruneCheckpoints,
  rankCheckpoints,
  type Retention,
} from '#host/runs/checkpointRetention.ts'
import { listCheckpoints, saveCheckpoint } from '#host/models/checkpoints.ts'
import { createRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { exampleCheckpoint, type ExampleOptions } from './exampleCheckpoint.ts'

let data: string
let run: string

beforeEach(() => {
  data = mkdtempSync(path.join(tmpdir(), 'turnwise-'))
  run = createRunFolder(data, {}).directory
})

afterEach(() => {
  rmSync(data, { recursive: true })
})

const rules: Retention = { keepLast: 1, keepBest: 0, bestBy: 'eval_reward', keepEvery: 0, diskBudgetMb: null }
const steps = () => listCheckpoints(run).map(({ step }) => step)
const nameOf = (step: number) => `step-${String(step).padStart(6, '0')}`

async function saveAll(entries: readonly (readonly [step: number, options?: ExampleOptions])[]) {
  for (const [step, options] of entries) await saveCheckpoint(run, exampleCheckpoint(step, options))
}

describe('which checkpoints stay', () => {
  const rewards = [
    [1, { reward: 0.2 }],
    [2, { reward: 0.7 }],
    [3, {}],
    [4, { reward: 0.5 }],
    [5, { reward: 0.7 }],
    [6, { reward: 0.1 }],
  ] as const

  test.each([
    ['the last one', {}, [6]],
    ['the last two', { keepLast: 2 }, [5, 6]],
    ['the newest of the best', { keepBest: 1 }, [5, 6]],
    ['the best three', { keepBest: 3 }, [2, 4, 5, 6]],
    ['every third', { keepEvery: 3 }, [3, 6]],
    ['all of these', { keepLast: 2, keepBest: 2, keepEvery: 4 }, [2, 4, 5, 6]],
    ['more than there are', { keepLast: 100 }, [1, 2, 3, 4, 5, 6]],
    ['as many as there is room for', { keepLast: 100, diskBudgetMb: 1e-9 }, [6]],
    ['the best before there is room', { keepLast: 100, keepBest: 1, diskBudgetMb: 1e-9 }, [5, 6]],
  ])('%s', async (_, change, expected) => {
    await saveAll(rewards)
    const { removed } = pruneCheckpoints(run, { ...rules, ...change })
    expect(steps()).toEqual(expected)
    expect(removed.map((directory) => path.basename(directory))).toEqual(
      [1, 2, 3, 4, 5, 6].filter((step) => !expected.includes(step)).map(nameOf),
    )
    expect(readdirSync(runPaths(run).checkpoints)).toEqual(expected.map(nameOf))
  })

  test('the oldest go until the rest is within the budget', async () => {
    await saveAll(rewards)
    const sizes = listCheckpoints(run).map(({ sizeBytes }) => sizeBytes)
    const lastThree = sizes.slice(-3).reduce((a, b) => a + b)
    const report = pruneCheckpoints(run, { ...rules, keepLast: 100, diskBudgetMb: (lastThree + 10) / 1e6 })
    expect(steps()).toEqual([4, 5, 6])
    expect(report).toMatchObject({ sizeBytes: lastThree, isOverBudget: false })
    expect(pruneCheckpoints(run, { ...rules, diskBudgetMb: 1e-9 })).toMatchObject({ isOverBudget: true })
  })

  test('by a metric of which less is better', async () => {
    await saveAll([
      [1, { metrics: { 'completions/clipped_ratio': 0.5 } }],
      [2, { metrics: { 'completions/clipped_ratio': 0.125 } }],
      [3, { metrics: { 'completions/clipped_ratio': 0.25 } }],
    ])
    const entries = listCheckpoints(run)
    expect(rankCheckpoints(entries, 'completions/clipped_ratio').map(({ step }) => step)).toEqual([2, 3, 1])
    expect(bestCheckpoint(entries)).toBeNull()
    pruneCheckpoints(run, { ...rules, keepBest: 1, bestBy: 'completions/clipped_ratio' })
    expect(steps()).toEqual([2, 3])
  })

  test('the newest whole one, when newer ones are damaged', async () => {
    await saveAll([[1], [2], [3]])
    rmSync(path.join(runPaths(run).checkpoints, nameOf(3), 'optimizer.safetensors'))
    pruneCheckpoints(run, rules)
    expect(steps()).toEqual([2, 3])
  })

  test('all of them when none is whole', async () => {
    await saveAll([[1], [2]])
    for (const step of [1, 2])
      rmSync(path.join(runPaths(run).checkpoints, nameOf(step), 'optimizer.safetensors'))
    expect(pruneCheckpoints(run, rules).removed).toEqual([])
  })

  test('the one whose files are in use', async () => {
    await saveAll([[1], [2], [3]])
    pruneCheckpoints(run, { ...rules, inUse: realpathSync(path.join(runPaths(run).checkpoints, nameOf(1))) })
    expect(steps()).toEqual([1, 3])
  })

  test('what a killed process left is cleared away, and never listed', async () => {
    await saveAll([[1]])
    const { checkpoints } = runPaths(run)
    for (const name of ['.step-000002.77.1.partial', '.step-000003.removed', 'step-000004'])
      mkdirSync(path.join(checkpoints, name))
    expect(steps()).toEqual([1])
    pruneCheckpoints(run, rules)
    expect(readdirSync(checkpoints)).toEqual(['step-000001', 'step-000004'])
  })
})

test('going on from an earlier checkpoint clears the later ones away, and keeps damaged ones under another name', async () => {
  await saveAll([[1], [2], [3], [4]])
  const { checkpoints } = runPaths(run)
  rmSync(path.join(checkpoints, nameOf(3), 'optimizer.safetensors'))
  rmSync(path.join(checkpoints, nameOf(4), 'state.json'))
  const { removed, damaged } = clearLaterCheckpoints(run, 1)
  expect(removed).toEqual([path.join(checkpoints, nameOf(2))])
  expect(damaged.map(({ step, problem }) => [step, /: (.*)\.$/.exec(problem)?.[1]])).toEqual([
    [3, 'optimizer.safetensors is missing'],
    [4, 'it has no state.json'],
  ])
  expect(readdirSync(checkpoints)).toEqual(['step-000001', 'step-000003.damaged', 'step-000004.damaged'])
  expect(existsSync(path.join(checkpoints, 'step-000003.damaged', 'actor'))).toBe(true)
  expect(steps()).toEqual([1])
})

test('the config says which, and knows its metrics', () => {
  const config = { model: 'm', data: { train: 'x' }, rewards: [{ function: 'f' }] }
  const { checkpoints } = parseRunConfig(config)
  expect(checkpoints).toMatchObject({ keepLast: 3, keepBest: 1, bestBy: 'eval_reward', keepEvery: 0 })
  const chosen = (bestBy: string) => parseRunConfig({ ...config, checkpoints: { bestBy } }).checkpoints.bestBy
  expect(chosen('eval_rewards/exact-match/mean')).toBe('eval_rewards/exact-match/mean')
  expect(() => chosen('luck')).toThrow('checkpoints.bestBy: expected the name of a metric, got "luck".')
})
