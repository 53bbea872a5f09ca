import { describe, expect, test } from 'vitest'
import { parseStudyConfig, type Population, type TrialResult } from '#shared/studies.ts'
import { planStudy } from '#rl/studies/plan.ts'
import { drawMutation, ranksOf, selectSuccessors, tournamentWinner } from '#rl/studies/population.ts'
import { mutatedValue } from '#rl/studies/ranges.ts'

test('ranks ascend with fitness; of equals the later one is higher', () => {
  expect(ranksOf([0.5, 2, -1, 2])).toEqual([1, 2, 0, 3])
  expect(tournamentWinner([1, 2, 0, 3], [2, 0, 1, 0])).toBe(1)
  expect(() => tournamentWinner([0], [])).toThrow('at least one')
})

test('the best goes on under its number, winners of tournaments under new ones', () => {
  const draws = [0, 2, 1, 0]
  const successors = selectSuccessors([4, 9, 7], [0.1, 0.3, 0.2], {
    tournament: 2,
    size: 3,
    elitism: true,
    random: {
      integer: (below) => {
        expect(below).toBe(3)
        return draws.shift() ?? 0
      },
    },
  })
  expect(successors).toEqual([
    { member: 9, parent: 1 },
    { member: 10, parent: 2 },
    { member: 11, parent: 1 },
  ])
})

const range = { min: 1, max: 10, scale: null, whole: false, shrink: 0.8, grow: 1.2 }

test('a setting shrinks or grows within its range, whole numbers stay whole', () => {
  expect(mutatedValue(5, range, 0.49)).toBe(4)
  expect(mutatedValue(5, range, 0.5)).toBe(6)
  expect(mutatedValue(9, range, 0.9)).toBe(10)
  expect(mutatedValue(1.1, range, 0)).toBe(1)
  expect(mutatedValue(8, { ...range, whole: true }, 0.9)).toBe(9) // 9.6
})

test('one setting changes at a time, and only one that has a range and a number', () => {
  const settings = { learningRate: 1, beta: 5, name: 'x', untouched: 3 }
  const random = { integer: () => 1, uniform: () => 0.1 }
  const ranges = { learningRate: range, name: range, beta: range, absent: range }
  expect(drawMutation(settings, { ranges, random })).toEqual({ key: 'beta', from: 5, to: 4 })
  expect(drawMutation(settings, { ranges: {}, random })).toBeNull()
})

describe('a population', () => {
  const study = parseStudyConfig({
    population: {
      size: 4,
      every: 10,
      mutation: { probability: 0.5, parameters: { 'optimization.learningRate': { min: 1e-5, max: 1e-2 } } },
    },
  })
  const subject = { search: study.search, seed: 7, steps: 35, start: { 'optimization.learningRate': 1e-3 } }

  /** Answers what is pending until it is over; fitness: what a trial comes to. */
  function played(
    fitness: (trial: number, step: number) => number | null,
    order: (count: number) => number = () => 0,
    changed: Partial<Population> = {},
  ) {
    const own = { ...subject, search: { ...subject.search, ...changed } as typeof subject.search }
    const results: TrialResult[] = []
    for (let plan = planStudy(own, results); ; plan = planStudy(own, results)) {
      if (plan.isOver) return { plan, results }
      const { trial, until } = plan.pending[order(plan.pending.length)]!
      results.push({ trial, step: until, fitness: fitness(trial, until), tokens: 1, seconds: 1 })
    }
  }
  const byTrial = (trial: number, step: number) => ((trial * 7919 + step) % 101) / 101

  test('every generation trains all members, which are evaluated at its end', () => {
    const { plan, results } = played(byTrial)
    const steps = [10, 20, 30, 35]
    expect([...new Set(results.map(({ step }) => step))]).toEqual(steps)
    for (const step of steps) expect(results.filter((each) => each.step === step)).toHaveLength(4)
    expect(plan.best?.fitness).toBe(
      Math.max(...results.filter(({ step }) => step === 35).map(({ fitness }) => fitness ?? 0)),
    )
  })

  test('the plan does not depend on the order in which results come in', () => {
    const { plan } = played(byTrial)
    const others = [(n: number) => n - 1, (n: number) => Math.floor(n / 2)]
    for (const order of others) expect(played(byTrial, order).plan).toEqual(plan)
    // Nor does it where members are equal.
    const equal = played(() => 1).plan
    for (const order of others) expect(played(() => 1, order).plan).toEqual(equal)
  })

  test('a clone begins where its parent ended, with its settings but one, and a seed of its own', () => {
    const { trials } = played(byTrial).plan
    const clones = trials.filter(({ parent }) => parent !== null)
    expect(clones.length).toBeGreaterThan(6)
    for (const { settings, parent, mutation, generation } of clones) {
      const before = { ...subject.start, ...trials[parent?.index ?? -1]?.settings }
      const changes = mutation === null ? {} : { [mutation.key]: mutation.to }
      expect(settings).toEqual({ ...before, ...changes, seed: settings['seed'] })
      expect(parent?.step).toBe(generation * 10)
    }
    expect(clones.some(({ mutation }) => mutation !== null)).toBe(true)
    expect(new Set(trials.map(({ settings }) => settings['seed'])).size).toBe(trials.length)
  })

  test('the best member is never lost, and keeps its number', () => {
    const { plan, results } = played(byTrial)
    for (const step of [10, 20, 30]) {
      const at = results.filter((each) => each.step === step)
      const best = at.reduce((a, b) => ((b.fitness ?? 0) > (a.fitness ?? 0) ? b : a))
      const { member } = plan.trials[best.trial]!
      const next = plan.trials.filter(
        (trial) =>
          trial.index === best.trial || (trial.parent?.index === best.trial && trial.member === member),
      )
      const later = results.filter(
        (each) => each.step > step && next.some(({ index }) => index === each.trial),
      )
      expect(later.length).toBeGreaterThan(0)
    }
  })

  test('first values are spread over decades, or those of the config', () => {
    const rates = planStudy(subject, []).trials.map(
      ({ settings }) => settings['optimization.learningRate'] as number,
    )
    expect(Math.max(...rates) / Math.min(...rates)).toBeGreaterThan(30)
    for (const rate of rates) expect(rate >= 1e-5 && rate <= 1e-2).toBe(true)
    const same = played(byTrial, () => 0, { initial: 'same' }).plan.trials.slice(0, 4)
    expect(same.map(({ settings }) => settings)).toEqual([7, 8, 9, 10].map((seed) => ({ seed })))
  })

  test('a member that fails is not cloned; where all fail, it is over', () => {
    const { plan } = played((trial, step) => (trial === 2 ? null : byTrial(trial, step)))
    expect(plan.trials.some(({ parent }) => parent?.index === 2)).toBe(false)
    const none = played(() => null)
    expect(none.results).toHaveLength(4)
    expect(none.plan.best).toBeNull()
  })

  test('a metric of which less is better selects the other way', () => {
    const mutation = { probability: 0, elite: false, parameters: {} }
    const less = { fitness: { metric: 'eval_loss', goal: 'min', steps: 1 }, mutation } as const
    const { plan } = played(
      (trial) => trial,
      () => 0,
      less,
    )
    expect(plan.best?.trial).toBe(0)
  })
})
