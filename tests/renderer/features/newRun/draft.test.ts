import { describe, expect, test } from 'vitest'
import {
  changedFields,
  checkedPart,
  effectiveValue,
  emptyDraft,
  forkChanges,
  pruned,
  withReset,
  withSetting,
  type Draft,
} from '#renderer/features/newRun/draft.ts'
import { configSections } from '#shared/config/fields.ts'
import { isEqual, isObject, valueAt, withChanges, withValue, withValues } from '#shared/config/paths.ts'
import { parseRunConfig } from '#shared/runConfig.ts'

const fields = configSections.flatMap((section) => section.fields)
const field = (key: string) => {
  const found = fields.find((each) => each.key === key)
  if (found === undefined) throw new Error(`Expected a field ${key}.`)
  return found
}
const small = { model: 'starter', data: { train: 'rows.jsonl' }, rewards: [{ function: 'exact-match' }] }
/** As a run keeps it: everything said. */
const whole = (config: object) =>
  JSON.parse(JSON.stringify(parseRunConfig(config))) as Record<string, unknown>

describe('keys of a config', () => {
  test('are read and written without touching what was there', () => {
    const before = { a: { b: 1, c: 2 } }
    expect(withValue(before, 'a.b', 5)).toEqual({ a: { b: 5, c: 2 } })
    expect(withValue(before, 'd.e', null)).toEqual({ a: { b: 1, c: 2 }, d: { e: null } })
    expect(before).toEqual({ a: { b: 1, c: 2 } })
    expect(valueAt(before, 'a.x.y')).toBeUndefined()
  })

  test('go away with what is empty without them', () => {
    expect(withValue({ a: { b: { c: 1 } }, d: 2 }, 'a.b.c', undefined)).toEqual({ d: 2 })
    expect(withValue({ d: 2 }, 'a.b', undefined)).toEqual({ d: 2 })
    expect(withValues({ a: { b: 1, c: 2 } }, { 'a.b': undefined, e: 3 })).toEqual({ a: { c: 2 }, e: 3 })
  })

  test('a value is not an object by accident', () => {
    expect(isObject([])).toBe(false)
    expect(isObject(null)).toBe(false)
    expect(isEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toBe(true)
    expect(isEqual({ a: undefined }, {})).toBe(true)
    expect(isEqual([1], { 0: 1 })).toBe(false)
  })
})

describe('changed settings', () => {
  test('are those that are not as by default', () => {
    const draft: Draft = { config: { ...small, adapter: { rank: 16, alpha: 8 } }, fork: null }
    expect(changedFields(draft, fields).map(({ key }) => key)).toEqual(['adapter.alpha'])
  })

  test('a default is not written down, a reset takes it away', () => {
    const rank = field('adapter.rank')
    const changed = withSetting(emptyDraft, rank, 4)
    expect(changed.config).toEqual({ adapter: { rank: 4 } })
    expect(effectiveValue(changed.config, rank)).toBe(4)
    expect(withSetting(changed, rank, 16).config).toEqual({})
    expect(withReset(changed, rank).config).toEqual({})
    expect(effectiveValue({}, rank)).toBe(16)
  })

  test('null is a value', () => {
    const steps = field('steps')
    expect(withSetting(emptyDraft, steps, 20).config).toEqual({ steps: 20 })
    expect(withSetting(withSetting(emptyDraft, steps, 20), steps, null).config).toEqual({})
  })
})

test('the config of another run made short says the same', () => {
  const given = { ...small, adapter: { rank: 4 }, rollout: { maxNewTokens: 16 }, steps: 7 }
  const short = pruned(whole(given), fields)
  expect(short).not.toHaveProperty('optimization')
  expect(short['adapter']).toEqual({ rank: 4 })
  expect(whole(short)).toEqual(whole(given))
})

describe('a fork', () => {
  const parent = whole({ ...small, steps: 20, data: { train: 'rows.jsonl', prompt: { column: 'question' } } })
  const forkOf = (config: Record<string, unknown>): Draft => ({
    config,
    fork: { runId: 'run_a', step: 10, parent },
  })

  test('changes nothing at first, and resets to its parent', () => {
    expect(forkChanges(forkOf(parent))).toEqual({})
    const steps = field('steps')
    const changed = withSetting(forkOf(parent), steps, 40)
    expect(forkChanges(changed)).toEqual({ steps: 40 })
    expect(changedFields(changed, fields).map(({ key }) => key)).toEqual(['steps'])
    expect(withReset(changed, steps).config['steps']).toBe(20)
  })

  test('tells the host dotted names that come to the same config', () => {
    const config = withValues(parent, {
      'optimization.learningRate': 5e-5,
      'data.prompt': { template: '{question}' },
      rewards: [{ function: 'contains' }],
      'algorithm.id': 'rloo',
      'algorithm.settings': { klCoefficient: 0.1 },
      'checkpoints.load.optimizer': false,
    })
    const changes = forkChanges(forkOf(config))
    expect(Object.keys(changes)).toContain('checkpoints.load.optimizer')
    expect(changes['data.prompt']).toEqual({ template: '{question}' })
    expect(whole(withChanges(parent, changes))).toEqual(whole(config))
  })

  test('can leave out what its parent has', () => {
    const { stages: _, ...others } = { ...parent, stages: [{ steps: 3 }] }
    const withStages: Draft = {
      config: others,
      fork: { runId: 'run_a', step: 1, parent: { ...parent, stages: [{ steps: 3 }] } },
    }
    expect(forkChanges(withStages)).toEqual({ stages: [] })
  })
})

test('a name does not make a check stale, a setting does', () => {
  const draft: Draft = { config: small, fork: null }
  expect(checkedPart({ ...draft, config: { ...small, name: 'x' } })).toBe(checkedPart(draft))
  expect(checkedPart({ ...draft, config: { ...small, seed: 2 } })).not.toBe(checkedPart(draft))
})
