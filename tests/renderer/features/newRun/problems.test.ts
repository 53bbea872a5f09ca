import { describe, expect, test } from 'vitest'
import { openProblems, problemsAt, problemsOf } from '#renderer/features/newRun/problems.ts'
import { requireKnownParts } from '#host/runs/runConfigFile.ts'
import { AppError } from '#shared/errors.ts'
import { parseRunConfig, runConfigSchema } from '#shared/runConfig.ts'

const topKeys = Object.keys(runConfigSchema.shape)
const small = { model: 'starter', data: { train: 'rows.jsonl' }, rewards: [{ function: 'exact-match' }] }

/** As the host tells it. */
function found(config: object) {
  try {
    requireKnownParts(parseRunConfig(config))
  } catch (error) {
    if (error instanceof AppError)
      return problemsOf({ code: error.code, message: error.message, hint: error.hint }, topKeys)
    throw error
  }
  return []
}

describe('problems of a config', () => {
  test('each beside its setting, without the key', () => {
    const problems = found({
      ...small,
      adapter: { rank: 0 },
      rollout: { topP: 2 },
      data: { train: 'rows.jsonl', heldOut: { share: 3 } },
    })
    expect(problems.map(({ key, step }) => [key, step])).toEqual([
      ['adapter.rank', 'method'],
      ['data.heldOut.share', 'data'],
      ['rollout.topP', 'method'],
    ])
    expect(problems[0]).toMatchObject({ sentence: 'Expected at least 1, got 0.', isMissing: false })
    expect(problemsAt(problems, 'data.heldOut')).toHaveLength(1)
    expect(problemsAt(problems, 'data')).toHaveLength(1)
    expect(problemsAt(problems, 'roll')).toEqual([])
  })

  test('what was not given yet is no fault', () => {
    expect(found({}).map(({ key, isMissing }) => [key, isMissing])).toEqual([
      ['model', true],
      ['data', true],
    ])
    expect(found({ ...small, rewards: [] })[0]).toMatchObject({
      key: 'rewards',
      step: 'reward',
      isMissing: true,
    })
  })

  test('settings that do not fit each other', () => {
    const [minibatch, tokens] = found({
      ...small,
      rollout: { minNewTokens: 300, maxNewTokens: 20 },
      optimization: { minibatchSize: 7 },
    }).toSorted((a, b) => (a.key ?? '').localeCompare(b.key ?? ''))
    expect(minibatch).toMatchObject({ key: 'optimization.minibatchSize', step: 'method' })
    expect(minibatch?.sentence).toMatch(/^It is 7, which does not divide/)
    expect(tokens?.key).toBe('rollout.minNewTokens')
  })

  test('settings of the algorithm', () => {
    expect(
      found({ ...small, algorithm: { id: 'grpo', settings: { klCoefficient: -1, x: 1 } } }),
    ).toMatchObject([{ key: 'algorithm.settings.klCoefficient' }, { key: 'algorithm.settings.x' }])
  })

  test('entries of a list', () => {
    expect(found({ ...small, rewards: [{ function: 'exact-match', weight: 'much' }] })).toMatchObject([
      { key: 'rewards[0].weight', step: 'reward', sentence: 'Expected a number, got "much".' },
    ])
  })

  test('of a stage', () => {
    const [problem] = found({
      ...small,
      stages: [{ steps: 2 }, { algorithm: { id: 'grpo' }, rollout: { topK: -1 }, steps: 2 }],
    })
    expect(problem?.key).toMatch(/rollout\.topK$/)
  })
})

test('other failures stand at the step they are about', () => {
  const step = (code: string) => problemsOf({ code, message: 'It is so.' }, topKeys)[0]?.step
  expect(
    ['model/invalid', 'tokenizer/invalid', 'data/invalid', 'file/unreadable', 'sandbox/failed'].map(step),
  ).toEqual(['model', 'model', 'data', 'data', 'reward'])
})

test('what is missing is a problem, unless its whole step is still to be done', () => {
  const message =
    'The run config has 2 problems: model: Expected text, it is missing. rollout.server.url: Expected text, it is missing.'
  const problems = problemsOf({ code: 'config/invalid', message }, ['model', 'rollout'])
  expect(openProblems(problems, ['model']).map(({ key }) => key)).toEqual(['rollout.server.url'])
  expect(openProblems(problems, [])).toHaveLength(2)
})
