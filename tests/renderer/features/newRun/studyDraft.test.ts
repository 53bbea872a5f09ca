import { describe, expect, test } from 'vitest'
import type { SettingField } from '#shared/config/fields.ts'
import { parseStudyConfig } from '#shared/studies.ts'
import {
  canSearch,
  firstRange,
  kindOf,
  runPart,
  searchedIn,
  studyLabel,
  studyWords,
  withKind,
  withSearched,
} from '#renderer/features/newRun/studyDraft.ts'

const run = { model: 'starter', steps: 30, optimization: { learningRate: 1e-4 } }
const rate = 'optimization.learningRate'

const number = (
  key: string,
  limits: { from?: number; to?: number; isInteger?: boolean } = {},
): SettingField => {
  const bound = (value: number | undefined) => (value === undefined ? null : { value, isExclusive: false })
  const { from, to, isInteger = false } = limits
  return {
    key,
    label: key,
    help: '',
    default: 1,
    isNullable: false,
    empty: '',
    control: { kind: 'number', isInteger, from: bound(from), to: bound(to) },
  }
}

describe('a draft', () => {
  test('of every kind is the file of a study, and one run again without it', () => {
    for (const kind of ['population', 'sweep', 'seeds'] as const) {
      const draft = withKind(run, kind, {})
      expect(kindOf(draft)).toBe(kind)
      expect(parseStudyConfig(draft)).toMatchObject({ search: { kind }, run })
      expect(withKind(draft, 'run', {})).toEqual(run)
      expect(runPart({ ...draft, parallel: 2 })).toEqual(run)
    }
  })

  test('keeps what it searches over from kind to kind, as far as the other can', () => {
    const sweep = withSearched(withKind(run, 'sweep', {}), 'algorithm.id', { values: ['grpo', 'cispo'] })
    const ranges = searchedIn(withSearched(sweep, rate, { min: 1e-6, max: 1e-3 }))
    expect(Object.keys(ranges)).toEqual([rate, 'algorithm.id'])
    const population = withKind(withSearched(sweep, rate, { min: 1e-6, max: 1e-3 }), 'population', {})
    expect(searchedIn(population)).toEqual({ [rate]: { min: 1e-6, max: 1e-3 } })
    const kept = { sweep: sweep['sweep'] }
    expect(withKind(population, 'sweep', kept)).toEqual(sweep)
  })

  test('is still a sweep when nothing is searched any more', () => {
    const empty = withSearched(withKind(run, 'sweep', {}), rate, undefined)
    expect(kindOf(empty)).toBe('sweep')
    expect(searchedIn(empty)).toEqual({})
    expect(studyWords(empty)).toBe('Bayesian · nothing searched yet')
  })
})

test('the first range lies around the value, within what the setting allows', () => {
  expect(firstRange('sweep', number(rate), 1e-4)).toEqual({ min: 1e-5, max: 1e-3 })
  expect(firstRange('population', number(rate), 1e-4)).toEqual({ min: 5e-5, max: 2e-4 })
  expect(firstRange('sweep', number('x', { from: 1, isInteger: true }), 1)).toEqual({ min: 1, max: 2 })
  expect(firstRange('sweep', number('x', { from: 0, to: 1 }), 0)).toEqual({ min: 0, max: 1 })
  expect(firstRange('sweep', number('x', { from: 0, to: 1 }), 0.5)).toEqual({ min: 0.05, max: 1 })
})

test('only numbers that a clone can change mutate; a sweep varies anything', () => {
  const text: SettingField = { ...number('model'), control: { kind: 'text' } }
  expect([rate, 'adapter.rank', 'steps'].map((key) => canSearch('population', number(key)))).toEqual([
    true,
    false,
    false,
  ])
  expect([canSearch('population', text), canSearch('sweep', text), canSearch('run', text)]).toEqual([
    false,
    true,
    false,
  ])
})

test('problems name the setting that they are about', () => {
  expect(studyLabel('population.every')).toBe('Steps per generation')
  expect(studyLabel(`sweep.parameters.${rate}`)).toBe('Learning rate')
  expect(studyLabel('data.heldOut')).not.toBe('')
})
