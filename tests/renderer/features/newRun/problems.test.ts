import { describe, expect, test } from 'vitest'
import {
  openProblems,
  ownProblems,
  problemsAt,
  problemWords,
  stepOf,
  stillHolding,
  wrongWords,
} from '#renderer/features/newRun/problems.ts'
import { requireKnownParts } from '#host/runs/runConfigFile.ts'
import { problemsOfError } from '#shared/config/blame.ts'
import { AppError, problemCodes, type ErrorCode, type Problem } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'

const small = { model: 'starter', data: { train: 'rows.jsonl' }, rewards: [{ function: 'exact-match' }] }

/** As the host answers. */
function found(config: object): readonly Problem[] {
  try {
    requireKnownParts(parseRunConfig(config))
  } catch (error) {
    if (error instanceof AppError) return problemsOfError(error)
    throw error
  }
  return []
}

const places = (problems: readonly Problem[]) => problems.map(({ path, code }) => [path, code])

test('a verdict says nothing about settings that were changed since', () => {
  const judged = { ...small, adapter: { rank: 2048 }, steps: 8 }
  const problem = (path: string, stage: number | null = null): Problem => ({
    path,
    stage,
    code: 'conflict',
    message: 'it does not fit',
  })
  const problems = [problem('adapter.rank'), problem('steps'), problem('')]
  const held = (config: object) =>
    stillHolding(problems, judged, { ...judged, ...config }).map(({ path }) => path)
  expect(held({ adapter: { rank: 8 } })).toEqual(['steps'])
  expect(held({ steps: 12 })).toEqual(['adapter.rank'])
})

test('what is out of range is known without the host', () => {
  expect(places(ownProblems({ ...small, adapter: { rank: 0 } }))).toEqual([['adapter.rank', 'range']])
  expect(ownProblems(small)).toEqual([])
})

describe('problems of a config', () => {
  test('each beside its setting, without the key', () => {
    const problems = found({
      ...small,
      adapter: { rank: 0 },
      rollout: { topP: 2 },
      data: { train: 'rows.jsonl', heldOut: { share: 3 } },
    })
    expect(problems.map((problem) => [problem.path, stepOf(problem)])).toEqual([
      ['adapter.rank', 'method'],
      ['data.heldOut.share', 'data'],
      ['rollout.topP', 'method'],
    ])
    expect(problemsAt(problems, 'data.heldOut')).toHaveLength(1)
    expect(problemsAt(problems, 'data')).toHaveLength(1)
    expect(problemsAt(problems, 'roll')).toEqual([])
    expect(wrongWords(problemsAt(problems, 'adapter'))).toBe('Expected at least 1, got 0.')
  })

  test('what was not given yet is no fault', () => {
    expect(places(found({}))).toEqual([
      ['model', 'missing'],
      ['data', 'missing'],
    ])
    expect(places(found({ ...small, rewards: [] }))).toEqual([['rewards', 'missing']])
    expect(wrongWords(found({}))).toBeUndefined()
  })

  test('what a stage says otherwise is a problem of the stage, not of the run', () => {
    const problems = [
      ...found({ ...small, stages: [{ steps: 2 }, { rollout: { topK: -1 }, steps: 2 }] }),
      ...found({ ...small, stages: [{ steps: 2 }, { rollout: { groupSize: 1 }, steps: 2 }] }),
      ...found({ ...small, stages: [{ algorithm: { id: 'grpo', settings: { x: 1 } }, steps: 2 }] }),
    ]
    expect(problems.map(({ path, stage }) => [path, stage])).toEqual([
      ['rollout.topK', 1],
      ['rollout.groupSize', 1],
      ['algorithm.settings.x', 0],
    ])
    expect(problemsAt(problems, 'rollout')).toEqual([])
  })
})

/** A config that has the problem, and how a person reads it under the setting. */
const examples: readonly (readonly [config: object, path: string, code: string, words: string])[] = [
  [{ ...small, model: undefined }, 'model', 'missing', 'Expected text, but it is missing.'],
  [{ ...small, rolout: {} }, 'rolout', 'unknown', 'Unknown key.'],
  [
    { ...small, rewards: [{ function: 'exact-match', weight: 'much' }] },
    ...(['rewards[0].weight', 'type', 'Expected a number, got "much".'] as const),
  ],
  [
    { ...small, algorithm: { id: 'grpo', settings: { klCoefficient: -1 } } },
    ...(['algorithm.settings.klCoefficient', 'range', 'Expected at least 0, got -1.'] as const),
  ],
  [
    { ...small, rollout: { precision: 'int4' } },
    ...(['rollout.precision', 'choice', 'Expected one of "f32", "int8", got "int4".'] as const),
  ],
  [{ ...small, data: { train: 3 } }, 'data.train', 'form', 'Expected text or an object, got 3.'],
  [
    { ...small, optimization: { minibatchSize: 7 } },
    ...(['optimization.minibatchSize', 'conflict'] as const),
    '7, which does not divide the 64 trajectories of a step (`rollout.promptsPerStep` 8 × 8 each).',
  ],
  [
    { ...small, rewards: [{ function: 'no-such' }] },
    ...(['rewards[0]', 'unusable'] as const),
    expect.stringMatching(
      /^There is no reward function called “no-such”\. Choose one of: exact-match/,
    ) as string,
  ],
]

describe('every code', () => {
  test.each(examples)('%j', (config, path, code, words) => {
    const [problem, ...others] = found(config)
    expect(others).toEqual([])
    expect(problem).toMatchObject({ path, code, stage: null })
    expect(problem && problemWords(problem)).toEqual(words)
  })

  test('has an example; warnings have those of configWarnings', () => {
    const shown = new Set([...examples.map(([, , code]) => code), 'unwise'])
    expect([...shown].sort()).toEqual([...problemCodes].sort())
  })
})

test('other failures stand at the step they are about', () => {
  const step = (code: ErrorCode) =>
    problemsOfError(new AppError(code, 'It is so.', 'Do this.')).map((problem) => [
      stepOf(problem),
      problemWords(problem),
    ])
  const words = 'It is so. Do this.'
  expect(
    (
      ['model/invalid', 'tokenizer/invalid', 'data/invalid', 'file/unreadable', 'sandbox/failed'] as const
    ).flatMap(step),
  ).toEqual([
    ['model', words],
    ['model', words],
    ['data', words],
    ['data', words],
    ['reward', words],
  ])
})

test('what is missing is a problem, unless its whole step is still to be done', () => {
  const server = { kind: 'vllm', adapterFolder: '/adapters' }
  const problems = found({ ...small, model: undefined, rollout: { server } })
  expect(openProblems(problems, ['model']).map(({ path }) => path)).toEqual(['rollout.server.url'])
  expect(openProblems(problems, [])).toHaveLength(2)
})
