import { describe, expect, test } from 'vitest'
import { parseStudyConfig, type TrialResult } from '#shared/studies.ts'
import { planStudy, wavesOf } from '#rl/studies/plan.ts'
import { hyperbandBrackets, rungsFrom } from '#rl/studies/sweep.ts'
import { casesOf } from '../../sweeps.ts'

const rate = 'optimization.learningRate'

interface Playing {
  readonly steps?: number
  readonly seed?: number
  readonly last?: boolean
}

/** Answers what is pending until it is over; `last`: one after the other, from behind. */
function played(
  sweep: object,
  fitness: (settings: Readonly<Record<string, unknown>>, step: number) => number | null,
  { steps, seed, last }: Playing = {},
) {
  const { search } = parseStudyConfig({ sweep })
  const subject = { search, seed: seed ?? 1, steps: steps ?? 81, start: {} }
  const results: TrialResult[] = []
  for (let plan = planStudy(subject, results); ; plan = planStudy(subject, results)) {
    if (plan.isOver) return { plan, results }
    for (const { trial, until } of last === true ? plan.pending.slice(-1) : plan.pending) {
      const worth = fitness(plan.trials[trial]?.settings ?? {}, until)
      results.push({ trial, step: until, fitness: worth, tokens: until, seconds: 60 })
    }
  }
}

test('a grid tries every combination once', () => {
  const parameters = { [rate]: { min: 1e-5, max: 1e-3 }, 'algorithm.id': { values: ['grpo', 'cispo'] } }
  const { plan } = played({ method: 'grid', points: 3, parameters }, () => 0)
  expect(plan.trials.map(({ settings }) => [settings[rate], settings['algorithm.id']])).toEqual(
    [1e-5, 1e-4, 1e-3].flatMap((each) => [
      [each, 'grpo'],
      [each, 'cispo'],
    ]),
  )
})

test('whole numbers of a range come once, and stay whole at random', () => {
  const whole = { 'rollout.groupSize': { min: 2, max: 4, whole: true } }
  const grid = played({ method: 'grid', points: 9, parameters: whole }, () => 0).plan.trials
  expect(grid.map(({ settings }) => settings['rollout.groupSize'])).toEqual([2, 3, 4])
  const random = played({ method: 'random', trials: 90, parameters: whole }, () => 0).plan.trials
  const counts = [2, 3, 4].map(
    (n) => random.filter(({ settings }) => settings['rollout.groupSize'] === n).length,
  )
  expect(counts.reduce((a, b) => a + b)).toBe(90)
  for (const count of counts) expect(Math.abs(count - 30)).toBeLessThanOrEqual(2)
})

test('a quasi-random sweep fills decades evenly', () => {
  const { plan } = played(
    { method: 'random', trials: 30, parameters: { [rate]: { min: 1e-6, max: 1e-3 } } },
    () => 0,
  )
  const decades = plan.trials.map(({ settings }) => Math.floor(Math.log10(settings[rate] as number) + 1e-12))
  for (const decade of [-6, -5, -4]) {
    const count = decades.filter((each) => each === decade).length
    expect(count).toBeGreaterThanOrEqual(9)
    expect(count).toBeLessThanOrEqual(11)
  }
})

test('the first trials of a quasi-random sweep leave no wide gap', () => {
  const parameters = { [rate]: { min: 0, max: 1 } }
  for (const seed of [1, 2, 3]) {
    const { plan } = played({ method: 'random', trials: 8, parameters }, () => 0, { seed })
    const values = plan.trials.map(({ settings }) => settings[rate] as number).toSorted((a, b) => a - b)
    // Around the end to the beginning, since the sequence is shifted by chance.
    const gaps = values.map((value, i) => (values[i + 1] ?? values[0]! + 1) - value)
    for (const gap of gaps) expect(gap).toBeCloseTo(1 / 8, 4)
  }
})

test('successive halving keeps the best third at each rung', () => {
  const sweep = {
    method: 'random',
    trials: 27,
    parameters: { [rate]: { min: 0, max: 1 } },
    early: { method: 'halving', from: 3, keep: 3 },
  }
  const { plan, results } = played(sweep, (settings) => settings[rate] as number)
  const at = (step: number) => results.filter((each) => each.step === step)
  expect([3, 9, 27, 81].map((step) => at(step).length)).toEqual([27, 9, 3, 1])
  const best = Math.max(...plan.trials.map(({ settings }) => settings[rate] as number))
  expect(plan.best).toMatchObject({ step: 81, fitness: best })
  const reversed = played(sweep, (settings) => settings[rate] as number, { last: true })
  expect(reversed.plan).toEqual(plan)
})

test('the rungs are evenly spaced, and end where the run ends', () => {
  expect(rungsFrom(10, 3, 100)).toEqual([10, 32, 100])
  expect(rungsFrom(3, 3, 81)).toEqual([3, 9, 27, 81])
  expect(rungsFrom(25, 3, 30)).toEqual([25, 30])
  expect(rungsFrom(100, 3, 100)).toEqual([100])
})

test('the brackets of Hyperband are those of the paper (R = 81, η = 3)', () => {
  const brackets = hyperbandBrackets(1, 3, 81)
  expect(brackets.map(({ size, rungs }) => [size, rungs[0]])).toEqual([
    [81, 1],
    [34, 3],
    [15, 9],
    [8, 27],
    [5, 81],
  ])
  const early = { method: 'hyperband', from: 9, keep: 3 }
  const { results } = played({ method: 'random', parameters: { [rate]: { min: 0, max: 1 } }, early }, () => 1)
  expect(new Set(results.map(({ trial }) => trial)).size).toBe(9 + 5 + 3)
})

test('a failed trial is not continued', () => {
  const sweep = {
    method: 'random',
    trials: 9,
    parameters: { [rate]: { min: 0, max: 1 } },
    early: { method: 'halving', from: 27, keep: 3 },
  }
  const { plan, results } = played(sweep, (settings) => ((settings[rate] as number) > 0.3 ? null : 1))
  const failed = new Set(results.filter(({ fitness }) => fitness === null).map(({ trial }) => trial))
  expect(results.filter(({ step, trial }) => step === 81 && failed.has(trial))).toEqual([])
  expect(plan.best?.step).toBe(81)
  expect(played(sweep, () => null).plan).toMatchObject({ isOver: true, best: null })
})

test('a budget ends the sweep between batches', () => {
  const parameters = { [rate]: { min: 0, max: 1 } }
  const counts = [{ steps: 400 }, { tokens: 400 }, { hours: 5 / 60 }].map(
    (budget) =>
      played({ method: 'random', trials: 30, batch: 2, budget, parameters }, () => 0).plan.trials.length,
  )
  expect(counts).toEqual([6, 6, 6])
})

/* Functions that samplers are compared on (Surjanovic and Bingham, Virtual Library of Simulation Experiments). */

const branin = (x: number, y: number) =>
  (y - (5.1 / (4 * Math.PI ** 2)) * x ** 2 + (5 / Math.PI) * x - 6) ** 2 +
  10 * (1 - 1 / (8 * Math.PI)) * Math.cos(x) +
  10

const hartmann = {
  a: [
    [10, 3, 17, 3.5, 1.7, 8],
    [0.05, 10, 17, 0.1, 8, 14],
    [3, 3.5, 1.7, 10, 17, 8],
    [17, 8, 0.05, 10, 0.1, 14],
  ],
  p: [
    [1312, 1696, 5569, 124, 8283, 5886],
    [2329, 4135, 8307, 3736, 1004, 9991],
    [2348, 1451, 3522, 2883, 3047, 6650],
    [4047, 8828, 8732, 5743, 1091, 381],
  ],
  alpha: [1, 1.2, 3, 3.2],
}
const hartmann6 = (x: readonly number[]) =>
  -hartmann.alpha.reduce((sum, alpha, i) => {
    const distance = x.reduce(
      (total, each, j) => total + hartmann.a[i]![j]! * (each - hartmann.p[i]![j]! * 1e-4) ** 2,
      0,
    )
    return sum + alpha * Math.exp(-distance)
  }, 0)

describe('a Bayesian sweep', () => {
  const numbers = (settings: Readonly<Record<string, unknown>>) => Object.values(settings).map(Number)
  const cases = {
    branin: {
      parameters: { 'a.x': { min: -5, max: 10 }, 'a.y': { min: 0, max: 15 } },
      loss: (settings: Readonly<Record<string, unknown>>) =>
        branin(...(numbers(settings) as [number, number])),
      minimum: 0.397887,
      reaches: 1,
    },
    hartmann6: {
      parameters: Object.fromEntries(
        ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [`h.${name}`, { min: 0, max: 1 }]),
      ),
      loss: (settings: Readonly<Record<string, unknown>>) => hartmann6(numbers(settings)),
      minimum: -3.32237,
      reaches: 0.8,
    },
  }
  const gap = (name: keyof typeof cases, method: string, seed: number) => {
    const { parameters, loss, minimum } = cases[name]
    const fitness = { goal: 'min' }
    const { plan } = played(
      { method, trials: 80, batch: 2, parameters, fitness },
      (settings) => loss(settings),
      {
        seed,
      },
    )
    return (plan.best?.fitness ?? Infinity) - minimum
  }
  const median = (values: readonly number[]) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

  test.each(['branin', 'hartmann6'] as const)(
    'comes closer to the minimum of %s than random search',
    (name) => {
      const seeds = Array.from({ length: casesOf(3, 7) }, (_, seed) => seed)
      const bayes = median(seeds.map((seed) => gap(name, 'bayes', seed)))
      const random = median(seeds.map((seed) => gap(name, 'random', seed)))
      expect(bayes).toBeLessThan(random * 0.7)
      expect(bayes).toBeLessThan(cases[name].reaches)
    },
  )

  test('finds the choice that pays', () => {
    const parameters = { 'a.kind': { values: ['a', 'b', 'c', 'd', 'e', 'f'] }, 'a.x': { min: 0, max: 1 } }
    const worth = (settings: Readonly<Record<string, unknown>>) =>
      (settings['a.kind'] === 'e' ? 1 : 0) - ((settings['a.x'] as number) - 0.3) ** 2
    const { trials } = played({ method: 'bayes', trials: 60, parameters }, worth).plan
    const late = trials.slice(30)
    expect(late.filter(({ settings }) => settings['a.kind'] === 'e').length).toBeGreaterThan(15)
  })

  test('trials of a batch differ, and the order of their results changes nothing', () => {
    const sweep = { method: 'bayes', trials: 40, batch: 4, parameters: { 'a.x': { min: 0, max: 1 } } }
    const worth = (settings: Readonly<Record<string, unknown>>) => -(((settings['a.x'] as number) - 0.7) ** 2)
    const { plan } = played(sweep, worth)
    expect(new Set(plan.trials.map(({ settings }) => settings['a.x'])).size).toBeGreaterThan(36)
    expect(played(sweep, worth, { last: true }).plan).toEqual(plan)
  })
})

test('seeds count on from that of the config, or are given', () => {
  const subject = { seed: 42, steps: 5, start: {} }
  const counted = planStudy({ ...subject, search: parseStudyConfig({ seeds: { values: 3 } }).search }, [])
  expect(counted.trials.map(({ settings }) => settings)).toEqual([{ seed: 42 }, { seed: 43 }, { seed: 44 }])
  expect(counted.pending).toEqual([0, 1, 2].map((trial) => ({ trial, until: 5 })))
  const given = planStudy({ ...subject, search: parseStudyConfig({ seeds: { values: [7, 1] } }).search }, [])
  expect(given.trials.map(({ settings }) => settings)).toEqual([{ seed: 7 }, { seed: 1 }])
})

test.each([
  ['no section', {}, 'has one of the sections'],
  [
    'two sections',
    { seeds: { values: 2 }, sweep: { parameters: { 'a.b': { values: [1] } } } },
    'one of these',
  ],
  ['nothing to search', { sweep: { parameters: {} } }, 'at least one setting'],
  [
    'limits the wrong way round',
    { sweep: { parameters: { 'a.b': { min: 2, max: 1 } } } },
    'not more than min',
  ],
  ['a log scale from 0', { sweep: { parameters: { 'a.b': { min: 0, max: 1, scale: 'log' } } } }, 'above 0'],
  ['an unknown key', { seeds: { values: 2, more: 1 } }, 'unknown key'],
  [
    'a whole section',
    { optimization: {}, sweep: { parameters: { optimization: { values: [1] } } } },
    'a section',
  ],
])('refuses %s', (_, json, words) => {
  expect(() => parseStudyConfig(json)).toThrow(words)
})

test.each([
  { method: 'grid', points: 3 },
  { method: 'random', trials: 7 },
  { method: 'random', trials: 11, batch: 3, budget: { steps: 400 } },
  { method: 'bayes', trials: 5, batch: 2 },
  { method: 'random', trials: 27, early: { method: 'halving', from: 3, keep: 3 } },
  { method: 'random', trials: 10, early: { method: 'halving', from: 10, keep: 4 }, budget: { tokens: 7000 } },
  { method: 'random', early: { method: 'hyperband', from: 3, keep: 3 } },
  { method: 'random', trials: 40, early: { method: 'hyperband', from: 3, keep: 3 }, budget: { hours: 0.25 } },
])('what a sweep will train is known before: %o', (given) => {
  const { search } = parseStudyConfig({
    sweep: { ...given, parameters: { [rate]: { min: 1e-5, max: 1e-2 } } },
  })
  const subject = { search, seed: 1, steps: 81, start: {} }
  const cost = { tokens: 9, seconds: 2 }
  const results: TrialResult[] = []
  const trained: (readonly [from: number, until: number])[] = []
  for (let plan = planStudy(subject, results); !plan.isOver; plan = planStudy(subject, results))
    for (const { trial, until } of plan.pending) {
      const from = results.findLast((result) => result.trial === trial)?.step ?? 0
      const steps = until - from
      trained.push([from, until])
      const spent = { tokens: steps * cost.tokens, seconds: steps * cost.seconds }
      results.push({ trial, step: until, fitness: (trial * 7) % 5, ...spent })
    }
  const waves = wavesOf(subject, cost)
  expect(waves.flatMap(({ size, from, until }) => Array.from({ length: size }, () => [from, until]))).toEqual(
    trained,
  )
})
