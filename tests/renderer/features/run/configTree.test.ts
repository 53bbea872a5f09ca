import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runConfigSchema } from '#shared/runConfig.ts'
import { algorithms } from '#rl/algorithms/registry.ts'
import {
  searched,
  sectionsOf,
  settingRows,
  valueText,
  type SchemaNode,
} from '#renderer/features/run/configTree.ts'

/** As the host answers. */
const known = {
  schema: z.toJSONSchema(runConfigSchema, { io: 'input' }) as SchemaNode,
  algorithms: algorithms.map(({ id, settings }) => ({ id, settings })),
}
const config = runConfigSchema.parse({
  model: '/models/a',
  data: { train: '/rows.jsonl', prompt: { messages: [{ role: 'user', content: '{q}' }] } },
  rewards: [{ function: 'exact-match', weight: 2 }],
  algorithm: { id: 'grpo', settings: { klCoefficient: 0.5 } },
  optimization: { learningRate: 0.01 },
})
const rows = settingRows(config, known)
const at = (path: string) => rows.find((row) => row.path === path)

describe('settingRows', () => {
  test('marks what differs from its default and says what it means', () => {
    expect(at('optimization.learningRate')).toMatchObject({ value: 0.01, usual: 1e-4, isChanged: true })
    expect(at('optimization.learningRate')?.description).toBe('Learning rate of the adapter.')
    expect(at('optimization.beta1')).toMatchObject({ value: 0.9, isChanged: false })
    expect(at('model')).toMatchObject({ isChanged: true, usual: undefined })
  })

  test('the algorithm’s settings are there even where the file leaves them out', () => {
    expect(at('algorithm.settings.klCoefficient')).toMatchObject({ value: 0.5, isChanged: true })
    const untouched = rows.filter(
      ({ path, isChanged }) => path.startsWith('algorithm.settings.') && !isChanged,
    )
    expect(untouched.length).toBeGreaterThan(2)
    expect(untouched.every(({ value, usual }) => value === usual)).toBe(true)
  })

  test('entries of lists have rows of their own, or the list is one value', () => {
    expect(at('rewards[0].weight')).toMatchObject({ value: 2, usual: 1, isChanged: true })
    expect(at('data.prompt.messages[0].content')?.value).toBe('{q}')
    const whole = settingRows(config, known, { opensLists: false })
    expect(whole.find(({ path }) => path === 'rewards')?.value).toHaveLength(1)
  })

  test('what may be chosen of is told', () => {
    expect(at('optimization.schedule')?.options).toEqual(['constant', 'linear', 'cosine'])
    expect(at('data.shuffle')?.options).toEqual(['true', 'false'])
    expect(at('seed')?.options).toBeNull()
  })
})

test('a search finds names, values and meanings by their words', () => {
  expect(searched(rows, 'learning rate', {}).map(({ path }) => path)).toContain('optimization.learningRate')
  expect(searched(rows, 'exact-match', {}).map(({ path }) => path)).toEqual(['rewards[0].function'])
  expect(searched(rows, 'no such words', {})).toEqual([])
})

test('rows stand under the first part of their name', () => {
  const sections = sectionsOf(rows)
  expect(sections.map(({ name }) => name)).toContain('rewards')
  expect(sections.find(({ name }) => name === 'general')?.rows.map(({ path }) => path)).toContain('seed')
})

test('text has no quotes', () => {
  expect([valueText('a'), valueText(1e-4), valueText([1]), valueText(undefined)]).toEqual([
    'a',
    '0.0001',
    '[1]',
    '',
  ])
})
