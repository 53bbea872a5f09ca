import { describe, expect, test } from 'vitest'
import { rowsFor } from '#host/exchange/settingsTable.ts'
import { toolNames } from '#host/exchange/tools.ts'
import {
  isReachable,
  matchesSearch,
  searched,
  sectionsFor,
  settingRows,
  toolNameWords,
  valueText,
  type AlgorithmEntry,
} from '#renderer/client/runSettings.ts'
import { fieldAt } from '#shared/config/fields.ts'
import type { JsonObject } from '#shared/config/paths.ts'
import { runConfigSchema } from '#shared/runConfig.ts'
import { algorithmEntries } from '../algorithmEntries.ts'

const names = Object.fromEntries(Object.entries(toolNames()).map(([key, list]) => [key, [...list]]))

const fieldsFor = (algorithm: AlgorithmEntry) => sectionsFor(algorithm).flatMap(({ fields }) => fields)

const found = (algorithm: string, search: string): readonly string[] => {
  const own = algorithmEntries.find(({ id }) => id === algorithm)
  if (own === undefined) throw new Error(`Expected an algorithm, got ${algorithm}.`)
  return fieldsFor(own)
    .filter((field) => matchesSearch(field, search, names))
    .map(({ key }) => key)
}

describe('settings are found by their names in other tools', () => {
  test.each([
    ['num_generations', 'rollout.groupSize'],
    ['group_size', 'rollout.groupSize'],
    ['beta', 'algorithm.settings.klCoefficient'],
    ['max_completion_length', 'rollout.maxNewTokens'],
    ['max_output_tokens', 'rollout.maxNewTokens'],
    ['per_device_train_batch_size', 'rollout.promptsPerStep'],
    ['gradient_accumulation_steps', 'optimization.minibatchSize'],
    ['epsilon', 'algorithm.settings.clipCoefficient'],
    ['epsilon_high', 'algorithm.settings.clipCoefficient'],
    ['clip_coef', 'algorithm.settings.clipCoefficient'],
    ['update_epochs', 'optimization.epochs'],
    ['num_iterations', 'optimization.epochs'],
    ['mini_batch_size', 'optimization.minibatchSize'],
    ['num_train_epochs', 'passes'],
    ['max_steps', 'steps'],
    ['warmup_ratio', 'optimization.warmupProportion'],
    ['scale_rewards', 'algorithm.settings.advantageNorm'],
    ['--num-generations', 'rollout.groupSize'],
    ['BATCH_SIZE', 'rollout.promptsPerStep'],
  ])('%s', (name, key) => {
    expect(found('grpo', name)).toContain(key)
  })

  test('what only counts on the way to another setting does not bring that one in', () => {
    expect(found('grpo', 'num_generations')).toEqual(['rollout.groupSize'])
    expect(found('grpo', 'group_size')).toEqual(['rollout.groupSize'])
    expect(found('grpo', 'max_steps')).toEqual(['steps'])
  })

  test.each(algorithmEntries.map((algorithm) => [algorithm.id, algorithm] as const))(
    '%s: every name TRL or AgileRL has for a setting of the form',
    (id, algorithm) => {
      const keys = new Set(fieldsFor(algorithm).map(({ key }) => key))
      const missing = rowsFor(id).flatMap((row) =>
        (['trl', 'agilerl'] as const).flatMap((tool) => {
          const [name] = Object.keys(row[tool]?.keys ?? {})
          const isFound = name === undefined || !keys.has(row.ours) || found(id, name).includes(row.ours)
          return isFound ? [] : [`${tool} ${name} → ${row.ours}`]
        }),
      )
      expect(missing).toEqual([])
    },
  )

  test('in the settings of a run as well', () => {
    const config = runConfigSchema.parse({ model: 'm', data: { train: 'rows.jsonl' } })
    const rows = settingRows(config, algorithmEntries)
    expect(searched(rows, 'max_completion_length', names).map(({ field }) => field.key)).toEqual([
      'rollout.maxNewTokens',
    ])
    expect(searched(rows, 'num_generations', names).map(({ field }) => field.key)).toEqual([
      'rollout.groupSize',
    ])
  })

  test('are told by tool', () => {
    expect(toolNameWords(names['rollout.groupSize'] ?? [])).toBe(
      'TRL: num_generations · AgileRL: group_size · AReaL: gconfig.n_samples',
    )
    expect(toolNameWords()).toBe('')
  })
})

const config = runConfigSchema.parse({
  model: '/models/a',
  data: { train: '/rows.jsonl', prompt: { messages: [{ role: 'user', content: '{q}' }] } },
  rewards: [{ function: 'exact-match', weight: 2 }],
  algorithm: { id: 'grpo', settings: { klCoefficient: 0.5 } },
  optimization: { learningRate: 0.01 },
})
const rows = settingRows(config, algorithmEntries)
const at = (path: string) => rows.find(({ field }) => field.key === path)

describe('settingRows', () => {
  test('marks what differs from its default and says what it means', () => {
    expect(at('optimization.learningRate')).toMatchObject({
      value: 0.01,
      isChanged: true,
      field: { default: 1e-4 },
    })
    expect(at('optimization.learningRate')?.field.help).toBe('Learning rate of the adapter.')
    expect(at('optimization.beta1')).toMatchObject({ value: 0.9, isChanged: false })
    expect(at('model')).toMatchObject({ isChanged: true, field: { default: undefined } })
  })

  test('the algorithm’s settings are there even where the file leaves them out', () => {
    expect(at('algorithm.settings.klCoefficient')).toMatchObject({ value: 0.5, isChanged: true })
    const untouched = rows.filter(
      ({ field, isChanged }) => field.key.startsWith('algorithm.settings.') && !isChanged,
    )
    expect(untouched.length).toBeGreaterThan(2)
    expect(untouched.every(({ value, field }) => value === field.default)).toBe(true)
  })

  test('entries of lists have rows of their own, or the list is one value', () => {
    expect(at('rewards[0].weight')).toMatchObject({ value: 2, isChanged: true, field: { default: 1 } })
    expect(at('data.prompt.messages[0].content')?.value).toBe('{q}')
    const whole = settingRows(config, algorithmEntries, { opensLists: false })
    expect(whole.find(({ field }) => field.key === 'rewards')?.value).toHaveLength(1)
  })

  test('how each is edited is told', () => {
    expect(at('optimization.schedule')?.field.control.kind).toBe('choice')
    expect(at('data.shuffle')?.field.control.kind).toBe('flag')
    expect(at('algorithm.settings.clipCoefficient')?.field.control.kind).toBe('number-or-pair')
  })
})

test('a search finds names, values and meanings by their words', () => {
  expect(searched(rows, 'learning rate', {}).map(({ field }) => field.key)).toContain(
    'optimization.learningRate',
  )
  expect(searched(rows, 'exact-match', {}).map(({ field }) => field.key)).toEqual(['rewards[0].function'])
  expect(searched(rows, 'no such words', {})).toEqual([])
})

test('the search looks at name, key and explanation, all words of it', () => {
  const fields = sectionsFor(undefined).flatMap((section) => section.fields)
  const found = (text: string) => fields.filter((field) => matchesSearch(field, text, {}))
  expect(found('warmup').map(({ key }) => key)).toEqual(['optimization.warmupProportion'])
  expect(found('lora rank').map(({ key }) => key)).toContain('adapter.rank')
  expect(found('').length).toBe(fields.length)
  expect(found('there is no such')).toEqual([])
})

test('a setting of a section that may be left out is there with it', () => {
  const retries = sectionsFor(undefined)
    .flatMap(({ fields }) => fields)
    .find(({ key }) => key === 'rollout.server.retries')
  const isThere = (config: JsonObject) => retries !== undefined && isReachable(config, retries)
  expect(isThere({})).toBe(false)
  expect(isThere({ rollout: { server: null } })).toBe(false)
  expect(isThere({ rollout: { server: { kind: 'vllm' } } })).toBe(true)
  expect(fieldAt('rollout.server.retries')?.default).toBe(10)
})

test('text has no quotes', () => {
  expect([valueText('a'), valueText(1e-4), valueText([1]), valueText(undefined)]).toEqual([
    'a',
    '0.0001',
    '[1]',
    '',
  ])
})
