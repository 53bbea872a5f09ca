import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseRunConfig, rewardName, runConfigSchema, stagesOf } from '#shared/runConfig.ts'

const smallest = { model: 'm', data: { train: 'rows.jsonl' }, rewards: [{ function: 'exact-match' }] }

const messageOf = (json: unknown): string => {
  try {
    parseRunConfig(json)
  } catch (error) {
    expect(error).toMatchObject({ code: 'config/invalid' })
    return (error as Error).message
  }
  return 'no error'
}

describe('run config', () => {
  test('everything but model, data and rewards has a default', () => {
    expect(parseRunConfig(smallest)).toMatchObject({
      data: { heldOut: null, prompt: { column: 'prompt' } },
      algorithm: { id: 'grpo', settings: {} },
      rollout: { promptsPerStep: 8, groupSize: null, precision: 'f32', temperature: 1 },
      optimization: { epochs: 1, minibatchSize: null, maxGradNorm: 1 },
      device: { kind: 'auto', threads: null },
    })
  })

  test('a checked config is a config', () => {
    const config = parseRunConfig({ ...smallest, rollout: { groupSize: 4 }, seed: 7 })
    expect(parseRunConfig(JSON.parse(JSON.stringify(config)))).toEqual(config)
  })

  test.each([
    [{ ...smallest, rollouts: {} }, 'rollouts: unknown key.'],
    [{ ...smallest, rollout: { grupSize: 4 } }, 'rollout.grupSize: unknown key.'],
    [{ ...smallest, model: undefined }, 'model: expected text, but it is missing.'],
    [{ ...smallest, rollout: { topP: 0 } }, 'rollout.topP: expected more than 0, got 0.'],
    [
      { ...smallest, rollout: { precision: 'int4' } },
      'rollout.precision: expected one of "f32", "int8", got "int4".',
    ],
    [{ ...smallest, seed: 1.5 }, 'seed: expected a whole number, got 1.5.'],
    [
      { ...smallest, rewards: [{ weight: 'x', function: 'a' }] },
      'rewards[0].weight: expected a number, got "x".',
    ],
    [{ ...smallest, rewards: [{ function: 'a' }, { function: 'b/a.ts' }] }, 'two rewards are called “a”'],
    [
      { ...smallest, data: { train: 'x', prompt: { template: '' } } },
      'data.prompt.template: expected text that is not empty',
    ],
    [3, 'the file: expected an object, got 3.'],
  ])('a mistake is named by its place: %j', (json, text) => {
    expect(messageOf(json)).toContain(text)
  })

  test('all mistakes are listed at once', () => {
    const message = messageOf({ ...smallest, seed: -1, steps: 0, nonsense: true })
    expect(message).toContain('3 problems')
    for (const part of ['seed:', 'steps:', 'nonsense:']) expect(message).toContain(part)
  })

  test('rewards are called after their file or id', () => {
    expect(rewardName({ function: 'rewards/short.answer.ts' })).toBe('short.answer')
    expect(rewardName({ function: 'exact-match', name: 'right' })).toBe('right')
  })
})

describe('stages', () => {
  const staged = {
    ...smallest,
    steps: 5,
    optimization: { learningRate: 0.1, epochs: 3 },
    stages: [
      { algorithm: { id: 'sft', settings: {} }, optimization: { epochs: 1 }, data: { completion: 'answer' } },
      { name: 'second', data: { train: 'other', prompt: { template: '{q}' } }, passes: 2 },
    ],
  }

  test('say what they do differently from the rest of the file', () => {
    const [first, second] = stagesOf(parseRunConfig(staged))
    expect(first).toMatchObject({
      steps: 5,
      algorithm: { id: 'sft', settings: {} },
      optimization: { learningRate: 0.1, epochs: 1 },
      data: { train: 'rows.jsonl', completion: 'answer', prompt: { column: 'prompt' } },
      stages: [],
    })
    expect(second).toMatchObject({
      steps: null,
      passes: 2,
      algorithm: { id: 'grpo' },
      optimization: { epochs: 3 },
      data: { train: 'other', prompt: { template: '{q}' } },
    })
  })

  test('a config without any is its own only one', () => {
    const config = parseRunConfig(smallest)
    expect(stagesOf(config)).toEqual([config])
  })

  test('keep what was not said open when the file is written again', () => {
    const config = parseRunConfig(staged)
    expect(config.stages).toEqual(staged.stages)
    expect(parseRunConfig(JSON.parse(JSON.stringify(config)))).toEqual(config)
  })

  test.each([
    [{ rollout: { topP: 2 } }, 'stages[0].rollout.topP: expected at most 1, got 2.'],
    [{ model: 'other' }, 'stages[0].model: unknown key.'],
    [{ data: { trian: 'x' } }, 'stages[0].data.trian: unknown key.'],
  ])('a mistake is named by its place: %j', (stage, text) => {
    expect(messageOf({ ...smallest, stages: [stage] })).toContain(text)
  })
})

test('every setting has a sentence', () => {
  const silent: string[] = []
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return
    if ('properties' in node) {
      for (const [name, child] of Object.entries(node.properties as Record<string, object>)) {
        if (!('description' in child) && !/^(role|content)$/.test(name) && path !== '')
          silent.push(`${path}.${name}`)
        visit(child, `${path}.${name}`)
      }
    }
    for (const key of ['items', 'anyOf', 'oneOf'] as const) {
      const inner = (node as Record<string, unknown>)[key]
      for (const child of [inner].flat()) visit(child, path)
    }
  }
  visit(z.toJSONSchema(runConfigSchema, { io: 'input' }), '')
  expect(silent).toEqual([])
})
