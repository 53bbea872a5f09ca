import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runConfigSchema } from '#shared/runConfig.ts'
import { algorithms } from '#rl/algorithms/registry.ts'
import { rowsFor } from '#host/exchange/settingsTable.ts'
import { toolNames } from '#host/exchange/tools.ts'
import { algorithmSection } from '#renderer/features/newRun/algorithmFields.ts'
import { matchesSearch, sectionsOf } from '#renderer/features/newRun/fields.ts'
import { toolNameWords, withToolNames } from '#renderer/features/newRun/toolNames.ts'
import { searched, settingRows, type SchemaNode } from '#renderer/features/run/configTree.ts'

const schema = z.toJSONSchema(runConfigSchema, { io: 'input' })
const names = Object.fromEntries(Object.entries(toolNames()).map(([key, list]) => [key, [...list]]))

const fieldsOf = (algorithm: (typeof algorithms)[number]) =>
  withToolNames([algorithmSection(algorithm), ...sectionsOf(schema)], names).flatMap(({ fields }) => fields)

const found = (algorithm: string, search: string): readonly string[] => {
  const own = algorithms.find(({ id }) => id === algorithm)
  if (own === undefined) throw new Error(`Expected an algorithm, got ${algorithm}.`)
  return fieldsOf(own)
    .filter((field) => matchesSearch(field, search))
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

  test.each(algorithms.map((algorithm) => [algorithm.id, algorithm] as const))(
    '%s: every name TRL or AgileRL has for a setting of the form',
    (id, algorithm) => {
      const keys = new Set(fieldsOf(algorithm).map(({ key }) => key))
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
    const rows = settingRows(config, { schema: schema as SchemaNode, algorithms })
    expect(searched(rows, 'max_completion_length', names).map(({ path }) => path)).toEqual([
      'rollout.maxNewTokens',
    ])
    expect(searched(rows, 'num_generations', names).map(({ path }) => path)).toEqual(['rollout.groupSize'])
  })

  test('are told by tool', () => {
    expect(toolNameWords(names['rollout.groupSize'] ?? [])).toBe(
      'TRL: num_generations · AgileRL: group_size · verl: actor_rollout_ref.rollout.n · AReaL: gconfig.n_samples',
    )
    expect(toolNameWords([])).toBe('')
  })
})
