import { describe, expect, test } from 'vitest'
import { scheduleById, schedules } from '#engine/optimizers/schedules.ts'

const cosine = scheduleById('cosine')
const linear = scheduleById('linear')

describe('cosine schedule', () => {
  test('warms up from the minimum, then falls to half the base rate at the end of the run', () => {
    const plan = { totalSteps: 10, warmupProportion: 0.2 }
    expect(cosine.at(0, 1e-3, plan)).toBe(1e-8)
    expect(cosine.at(2, 1e-3, plan)).toBe(1e-3)
    expect(cosine.at(10, 1e-3, plan)).toBeCloseTo((1e-3 + 1e-8) / 2, 12)
  })

  test('without a warm-up starts at the base rate and falls', () => {
    const plan = { totalSteps: 6, warmupProportion: 0.1 }
    const rates = Array.from({ length: 7 }, (_, step) => cosine.at(step, 1e-3, plan))
    expect(rates[0]).toBe(1e-3)
    expect(rates).toEqual(rates.toSorted((a, b) => b - a))
    expect(rates[6]).toBeCloseTo((1e-3 + 1e-8) / 2, 12)
  })

  test('only to the letter of AgileRL it stays at the minimum without a warm-up', () => {
    const plan = { totalSteps: 6, warmupProportion: 0, literalZeroWarmup: true }
    expect([0, 3, 8].map((step) => cosine.at(step, 1e-3, plan))).toEqual([1e-8, 1e-8, 1e-8])
  })

  test('each group follows its own base rate', () => {
    const plan = { totalSteps: 10, warmupProportion: 0.2 }
    expect(cosine.at(2, 1e-3, plan)).toBe(1e-3)
    expect(cosine.at(2, 5e-5, plan)).toBe(5e-5)
  })
})

describe('linear schedule', () => {
  const plan = { totalSteps: 10, warmupProportion: 0.2 }

  test('rises to the base rate, falls to the minimum at the end and stays there', () => {
    expect(linear.at(0, 1e-3, plan)).toBe(1e-8)
    expect(linear.at(1, 1e-3, plan)).toBeCloseTo((1e-3 + 1e-8) / 2, 12)
    expect(linear.at(2, 1e-3, plan)).toBe(1e-3)
    expect(linear.at(6, 1e-3, plan)).toBeCloseTo((1e-3 + 1e-8) / 2, 12)
    expect(linear.at(10, 1e-3, plan)).toBeCloseTo(1e-8, 15)
    expect(linear.at(99, 1e-3, plan)).toBeCloseTo(1e-8, 15)
  })
})

describe('every schedule', () => {
  test.each(schedules)('$id keeps a rate of 0 at 0 and never leaves [0, base]', (schedule) => {
    for (const warmupProportion of [0, 0.3, 1]) {
      for (let step = 0; step < 12; step++) {
        const plan = { totalSteps: 7, warmupProportion }
        expect(schedule.at(step, 0, plan)).toBe(0)
        const rate = schedule.at(step, 1e-4, plan)
        expect(rate).toBeGreaterThan(0)
        expect(rate).toBeLessThanOrEqual(1e-4)
      }
    }
  })
})

describe('registry', () => {
  test('ids are unique', () => {
    expect(new Set(schedules.map(({ id }) => id)).size).toBe(schedules.length)
  })

  test('an unknown name is an error that lists the known ones', () => {
    expect(() => scheduleById('step')).toThrow(
      expect.objectContaining({ code: 'config/invalid', hint: 'Use one of: constant, linear, cosine.' }),
    )
  })
})
