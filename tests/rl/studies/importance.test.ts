import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { parseStudyConfig, type Trial } from '#shared/studies.ts'
import { importanceOf } from '#rl/studies/importance.ts'
import { haltonPoint, valueAtUnit } from '#rl/studies/ranges.ts'
import { freshTrial } from '#rl/studies/trials.ts'

const unit = { min: 0, max: 1 }

interface Sampled {
  readonly trials: number
  readonly seed?: number
  readonly noise?: number
}

/** Trials spread over the ranges, each with the fitness that `f` gives its settings in their order. */
function estimate(
  parameters: Readonly<Record<string, object>>,
  f: (...settings: never[]) => number,
  { trials: count, seed = 1, noise = 0 }: Sampled,
) {
  const { search } = parseStudyConfig({ sweep: { parameters } })
  if (search.kind !== 'sweep') throw new Error('Expected a sweep.')
  const random = new SequentialRandom(randomStream(seed, 77))
  const searched = Object.entries(search.parameters)
  const trials = Array.from({ length: count }, (_, index) => {
    const units = haltonPoint(index, searched.length, seed)
    const settings = searched.map(([key, each], i) => [key, valueAtUnit(each, units[i] ?? 0)])
    return freshTrial(index, 0, Object.fromEntries(settings) as Trial['settings'])
  })
  const results = trials.map(({ index: trial, settings }) => {
    const fitness = f(...(Object.values(settings) as never[])) + noise * random.normal()
    return { trial, step: 10, fitness }
  })
  return importanceOf({ search, start: {}, trials, results })
}

type Importance = ReturnType<typeof estimate>

const settingOf = ({ settings }: Importance, key: string) => {
  const found = settings.find((setting) => setting.key === key)
  if (found === undefined) throw new Error(`Expected ${key} among the settings.`)
  return found
}

const means = (all: readonly Importance[], key: string): number =>
  all.reduce((sum, each) => sum + settingOf(each, key).share, 0) / all.length

describe('functions whose shares are known', () => {
  // Variances of a·x + b·y + c·z + 0·w over the unit cube are a² : b² : c² : 0.
  const four = { x: unit, y: unit, z: unit, w: unit }
  const additive = (x: number, y: number, z: number) => 4 * x - 2 * y + z

  test('an additive function: shares, order and directions', () => {
    const found = estimate(four, additive, { trials: 400 })
    expect(found.settings.map(({ key }) => key)).toEqual(['x', 'y', 'z', 'w'])
    const truth = { x: 16 / 21, y: 4 / 21, z: 1 / 21, w: 0 }
    for (const [key, share] of Object.entries(truth))
      expect(Math.abs(settingOf(found, key).share - share)).toBeLessThan(0.04)
    expect(found.explained).toBeGreaterThan(0.95)
    expect(found.settings.map(({ better }) => better)).toEqual(['more', 'less', 'more', null])
  })

  test('with noise, shares are those of the whole variance', () => {
    // The variance of the noise is 3/7 of all.
    const found = estimate(four, additive, { trials: 400, noise: Math.sqrt((21 / 12) * 0.75) })
    expect(Math.abs(settingOf(found, 'x').share - (16 / 21) * (4 / 7))).toBeLessThan(0.08)
    expect(found.explained).toBeLessThan(0.65)
  })

  test('an interaction counts for both, though neither correlates with fitness', () => {
    const found = estimate(
      { x: unit, y: unit, z: unit },
      (x: number, y: number) => Number(x > 0.5 === y > 0.5),
      { trials: 300 },
    )
    for (const key of ['x', 'y']) {
      expect(settingOf(found, key).share).toBeGreaterThan(0.7)
      expect(settingOf(found, key).better).toBeNull()
    }
    expect(Math.abs(settingOf(found, 'z').share)).toBeLessThan(0.05)
  })

  test('an optimum in between is important without a direction, a log range is read as one', () => {
    const rate = { min: 1e-6, max: 1e-3, scale: 'log' }
    const found = estimate({ rate, other: unit }, (x: number) => -((Math.log10(x) + 4.5) ** 2), {
      trials: 60,
    })
    expect(settingOf(found, 'rate')).toMatchObject({ better: null })
    expect(settingOf(found, 'rate').share).toBeGreaterThan(0.8)
  })

  test('values without an order, whole objects and booleans', () => {
    const algorithm = { values: [{ id: 'grpo' }, { id: 'cispo' }, { id: 'sapo' }, { id: 'rloo' }] }
    const found = estimate(
      { algorithm, 'data.shuffle': { values: [true, false] }, batch: { values: [16, 4, 8] } },
      ({ id }: { id: string }, _: boolean, batch: number) => Number(id === 'sapo') + batch / 32,
      { trials: 100 },
    )
    expect(found.settings.map(({ key }) => key)).toEqual(['algorithm', 'batch', 'data.shuffle'])
    expect(found.settings.map(({ better }) => better)).toEqual([null, 'more', null])
    expect(settingOf(found, 'algorithm').correlation).toBeNull()
  })
})

describe('few trials', () => {
  const two = { x: unit, y: unit }

  test('too few say nothing, and how many it takes', () => {
    expect(estimate(two, (x: number) => x, { trials: 11 })).toEqual({
      results: 11,
      needed: 12,
      step: 10,
      explained: null,
      settings: [],
    })
    const five = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((key) => [key, unit]))
    expect(estimate(five, (x: number) => x, { trials: 12 })).toMatchObject({ needed: 20, settings: [] })
    expect(estimate(two, () => 0.5, { trials: 20 })).toMatchObject({ explained: null, settings: [] })
  })

  test('a strong setting is told from none, with an interval that excludes 0; more trials narrow it', () => {
    const all = [1, 2, 3, 4, 5].map((seed) => estimate(two, (x: number) => x, { trials: 16, seed }))
    for (const found of all) expect(settingOf(found, 'x').interval?.low).toBeGreaterThan(0)
    const more = estimate(two, (x: number) => x, { trials: 200 })
    const width = (found: Importance) => {
      const { interval } = settingOf(found, 'x')
      return interval === null ? NaN : interval.high - interval.low
    }
    expect(width(more)).toBeLessThan(width(all[0]!) / 2)
  })

  test('noise alone: shares of about 0 whose intervals rarely exclude 0', () => {
    const all = Array.from({ length: 40 }, (_, seed) =>
      estimate(two, () => 0, { trials: 20, seed: seed + 1, noise: 1 }),
    )
    expect(Math.abs(means(all, 'x'))).toBeLessThan(0.02)
    const certain = all.filter(({ settings }) => settings.some(({ interval }) => (interval?.low ?? 0) > 0))
    expect(certain.length).toBeLessThanOrEqual(8)
  })
})

describe('which results count', () => {
  const search = (early: object | null, goal = 'max') =>
    parseStudyConfig({ sweep: { parameters: { x: unit }, early, fitness: { goal } } }).search

  test('where weak trials end early, the step that most of them reached', () => {
    const trials = Array.from({ length: 27 }, (_, i) => freshTrial(i, 0, { x: i / 26 }))
    const early = { method: 'halving', from: 3 }
    const first = trials.map(({ index: trial }) => ({ trial, step: 3, fitness: trial }))
    const later = trials.slice(18).map(({ index: trial }) => ({ trial, step: 9, fitness: -100 * trial }))
    const found = importanceOf({ search: search(early), start: {}, trials, results: [...later, ...first] })
    expect(found).toMatchObject({ step: 3, results: 27, settings: [{ key: 'x', better: 'more' }] })
  })

  test('a failed trial counts as the worst; less fitness is better where the goal says so', () => {
    const trials = Array.from({ length: 20 }, (_, i) => freshTrial(i, 0, { x: i / 19 }))
    // Without those that failed there would be too few.
    const fitness = (trial: number) => (trial > 9 ? null : ((7 * trial) % 10) / 10)
    const results = trials.map(({ index: trial }) => ({ trial, step: 3, fitness: fitness(trial) }))
    const found = importanceOf({ search: search(null, 'min'), start: {}, trials, results })
    expect(found).toMatchObject({ results: 20, settings: [{ key: 'x', better: 'less' }] })
    expect(found.settings[0]?.interval?.low).toBeGreaterThan(0)
  })

  test('in a population, what a generation added: what was inherited does not count', () => {
    const mutation = { parameters: { x: { min: 0.01, max: 1 }, y: { min: 0.01, max: 1 } } }
    const { search: evolved } = parseStudyConfig({ population: { size: 16, every: 5, mutation } })
    const random = new SequentialRandom(randomStream(5))
    const trials: Trial[] = []
    const results: { trial: number; step: number; fitness: number }[] = []
    // A generation adds x; y tells what it began with, and adds nothing.
    for (let index = 0; index < 192; index++) {
      const generation = Math.floor(index / 16)
      const parent = generation === 0 ? null : { index: index - 16, step: 5 * generation }
      const before = parent === null ? 0 : results[parent.index]!.fitness
      const settings = { x: random.uniform(), y: Math.max(0.01, before / 12) }
      trials.push({ ...freshTrial(index, generation, settings), parent })
      results.push({ trial: index, step: 5 * (generation + 1), fitness: before + settings.x })
    }
    const found = importanceOf({ search: evolved, start: {}, trials, results })
    expect(found).toMatchObject({ step: null, results: 192 })
    expect(settingOf(found, 'x')).toMatchObject({ better: 'more' })
    expect(settingOf(found, 'x').share).toBeGreaterThan(0.7)
    expect(settingOf(found, 'y').share).toBeLessThan(0.05)
  })
})

test('a thousand trials of ten settings are no more than it can take', () => {
  const ten = Object.fromEntries('abcdefghij'.split('').map((key) => [key, unit]))
  const found = estimate(ten, (a: number, b: number) => a + b, { trials: 1000 })
  expect(found.results).toBe(1000)
  expect(
    found.settings
      .slice(0, 2)
      .map(({ key }) => key)
      .toSorted(),
  ).toEqual(['a', 'b'])
})
