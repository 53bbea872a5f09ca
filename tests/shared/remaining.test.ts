import { describe, expect, test } from 'vitest'
import type { ScheduledStage } from '#shared/events.ts'
import { randomStream } from '#shared/random.ts'
import { laterStagesWords, rangeAfter, remainingOf, type RunTimings, type Timed } from '#shared/remaining.ts'

const stage = (changes: Partial<ScheduledStage> = {}): ScheduledStage => ({
  firstStep: 0,
  lastStep: 20,
  evaluateEvery: 10,
  heldOutRows: 20,
  expected: null,
  ...changes,
})

/** After `steps`, evaluated where it was due. */
function after(step: number, { steps, evaluations }: { steps: number[]; evaluations: number[] }): RunTimings {
  const due = [0, 10, 20].filter((point) => point <= step)
  return {
    stages: [stage()],
    step,
    takenUpAt: 0,
    steps: steps.map((seconds, i) => ({ step: i + 1 + step - steps.length, seconds })),
    evaluations: evaluations.map((seconds, i) => ({ step: due[i] ?? step, seconds })),
    checkpoints: [],
  }
}

const answer = (timings: RunTimings) => {
  const remaining = remainingOf(timings)
  if (remaining === null) throw new Error('Expected an estimate.')
  return { ...remaining, middle: Math.sqrt(remaining.low * remaining.high) }
}

const times = (count: number, seconds: number): number[] => new Array<number>(count).fill(seconds)

describe('the rest of a run', () => {
  test('keeps steps and evaluations apart, also where an evaluation takes longer than many steps', () => {
    // Recorded: steps of 14 s, evaluations of 100 s.
    const { secondsPerStep, middle } = answer(after(12, { steps: times(12, 14), evaluations: [100, 100] }))
    expect(secondsPerStep).toBe(14)
    expect(middle).toBeCloseTo(8 * 14 + 100, 6)
  })

  test('counts the evaluation that is due now, and the last one', () => {
    const due = answer(after(10, { steps: times(10, 14), evaluations: [100] }))
    expect(due.middle).toBeCloseTo(10 * 14 + 200, 6)
    expect(due.current).toBe(100)
    const last = answer(after(20, { steps: times(10, 14), evaluations: [17, 17] }))
    expect(last.middle).toBeCloseTo(17, 6)
    expect(last.high).toBeGreaterThan(17)
    const over = answer(after(20, { steps: times(10, 14), evaluations: [17, 17, 17] }))
    expect([over.low, over.high]).toEqual([0, 0])
  })

  test('is not known before anything was measured or expected', () => {
    expect(remainingOf(after(0, { steps: [], evaluations: [] }))).toBeNull()
    expect(remainingOf(after(0, { steps: [], evaluations: [100] }))).toBeNull()
  })

  test('begins as the trial before the run expected', () => {
    const expected = { step: { expected: 10, high: 16 }, evaluation: { expected: 30, high: 45 } }
    const told = answer({ ...after(0, { steps: [], evaluations: [] }), stages: [stage({ expected })] })
    expect(told.secondsPerStep).toBeNull()
    expect(told.middle).toBeCloseTo(20 * 10 + 3 * 30, 6)
    expect(told.high).toBeGreaterThan(20 * 13)
    expect(told.current).toBe(30)
  })

  test('one step makes a wide range, many alike a narrow one', () => {
    const wide = answer(after(1, { steps: [20], evaluations: [17] }))
    const narrow = answer(after(19, { steps: times(19, 20), evaluations: [17, 17] }))
    expect(wide.high / wide.low).toBeGreaterThan(2)
    expect(narrow.high / narrow.low).toBeLessThan(2)
  })

  test('the first step of a process, which prepares programs, soon counts no more', () => {
    expect(answer(after(3, { steps: [60, 10, 10], evaluations: [17] })).secondsPerStep).toBe(10)
    expect(answer(after(2, { steps: [60, 10], evaluations: [17] })).secondsPerStep).toBe(35)
  })

  test('of several stages each has its own pace; one that was never tried leaves it unknown', () => {
    const expected = { step: { expected: 2, high: 3 }, evaluation: { expected: 0, high: 0 } }
    const none = { heldOutRows: 0, evaluateEvery: 0 }
    const stages = [stage({ lastStep: 4, ...none }), stage({ firstStep: 4, lastStep: 14, ...none, expected })]
    const timings = { ...after(2, { steps: [10, 10], evaluations: [] }), stages }
    expect(answer(timings).middle).toBeCloseTo(2 * 10 + 10 * 2, 6)
    const untried = { ...timings, stages: [stages[0]!, { ...stages[1]!, expected: null }] }
    expect(answer(untried)).toMatchObject({ middle: expect.closeTo(20, 6) as number, laterStages: 1 })
    expect(answer(timings).laterStages).toBe(0)
    expect(remainingOf({ ...untried, step: 4, checkpoints: [{ step: 4, seconds: 1 }] })).toBeNull()
    expect([0, 1, 2].map(laterStagesWords)).toEqual(['', ', then another stage', ', then 2 more stages'])
  })

  test('checkpoints count as what the last of them took, the one that is due now too', () => {
    const stages = [stage({ heldOutRows: 0, checkpointEvery: 5 })]
    const timings = { ...after(10, { steps: times(10, 14), evaluations: [] }), stages }
    expect(answer(timings).middle).toBeCloseTo(10 * 14, 6)
    const saved = (...at: number[]) => ({
      ...timings,
      checkpoints: at.map((step) => ({ step, seconds: 30 })),
    })
    // Of steps 10, 15 and 20, and, once it is written, of the last two.
    expect(answer(saved(5))).toMatchObject({ middle: expect.closeTo(140 + 90, 6) as number, current: 30 })
    expect(answer(saved(5, 10))).toMatchObject({ middle: expect.closeTo(140 + 60, 6) as number, current: 14 })
    expect(answer({ ...saved(5), takenUpAt: 10 }).middle).toBeCloseTo(140 + 60, 6)
    const over = answer({ ...saved(15), step: 20 })
    expect([over.middle, over.current]).toEqual([expect.closeTo(30, 6), 30])
  })

  test('begins with the checkpoints that the trial timed', () => {
    const none = { expected: 0, high: 0 }
    const expected = {
      step: { expected: 10, high: 16 },
      evaluation: none,
      checkpoint: { expected: 40, high: 60 },
    }
    const timings = after(0, { steps: [], evaluations: [] })
    const told = answer({ ...timings, stages: [stage({ expected, heldOutRows: 0, checkpointEvery: 0 })] })
    expect(told.middle).toBeCloseTo(20 * 10 + 40, 6)
  })

  test('goes down while a step goes on, and stays where that takes longer than expected', () => {
    const remaining = { secondsPerStep: 10, low: 80, high: 120, current: 10, laterStages: 0 }
    expect(rangeAfter(remaining, 4)).toEqual({ low: 76, high: 116 })
    expect(rangeAfter(remaining, 400)).toEqual({ low: 70, high: 110 })
    expect(rangeAfter(remaining, -3)).toEqual({ low: 80, high: 120 })
  })
})

/** A run as a machine could have timed it: uneven steps, a pace that wanders, a slow first step, dear evaluations. */
function recordedRun(index: number) {
  const random = randomStream(11, index)
  let position = 0
  const uniform = (from: number, to: number) => from + (to - from) * random.uniformAt(position++)
  const gaussian = () => Math.sqrt(-2 * Math.log(1 - uniform(0, 1))) * Math.cos(2 * Math.PI * uniform(0, 1))
  const lasting = (mean: number, spread: number) => mean * Math.exp(spread * gaussian() - spread ** 2 / 2)
  const [usual, length, every] = [uniform(0.2, 60), Math.round(uniform(5, 200)), Math.round(uniform(0, 20))]
  const [spread, wander, warmUp] = [uniform(0.03, 0.5), uniform(0, 0.015), uniform(1, 2)]
  const evaluation = usual * uniform(0.2, 8)
  let pace = usual
  const steps = Array.from({ length }, (_, i): Timed => {
    pace *= Math.exp(wander * gaussian())
    return { step: i + 1, seconds: lasting(pace, spread) * (i === 0 ? warmUp : 1) }
  })
  const due = [0, ...steps.map(({ step }) => step)].filter(
    (step) => step === 0 || step === length || (every > 0 && step % every === 0),
  )
  const evaluations = due.map((step): Timed => ({ step, seconds: lasting(evaluation, uniform(0.02, 0.3)) }))
  const tried = { step: lasting(usual, 0.25), evaluation: lasting(evaluation, 0.25) }
  const withRange = (expected: number) => ({ expected, high: 1.5 * expected })
  const expected = { step: withRange(tried.step), evaluation: withRange(tried.evaluation) }
  return { steps, evaluations, every, length, expected: index % 2 === 0 ? expected : null }
}

/** Whether the range told after each step, its evaluation done, holds what then still came. */
function hits(index: number): { readonly step: number; readonly isIn: boolean; readonly width: number }[] {
  const { steps, evaluations, every, length, expected } = recordedRun(index)
  const stages = [stage({ lastStep: length, evaluateEvery: every, expected })]
  return steps.slice(0, -1).map(({ step }) => {
    const isPast = (timed: Timed) => timed.step <= step
    const known = {
      steps: steps.filter(isPast).slice(-20),
      evaluations: evaluations.filter(isPast).slice(-20),
    }
    const { low, high } = answer({ stages, step, takenUpAt: 0, checkpoints: [], ...known })
    const rest = [...steps, ...evaluations].filter((timed) => !isPast(timed))
    const truth = rest.reduce((sum, { seconds }) => sum + seconds, 0)
    return { step, isIn: low <= truth && truth <= high, width: high / low }
  })
}

test('in 400 random runs nine of ten ranges hold the truth from step 2 on, and are not wide for nothing', () => {
  const told = Array.from({ length: 400 }, (_, index) => hits(index)).flat()
  const share = (list: typeof told) => list.filter(({ isIn }) => isIn).length / list.length
  const groups = [
    told.filter(({ step }) => step === 2),
    told.filter(({ step }) => step > 2 && step <= 10),
    told.filter(({ step }) => step > 10),
  ]
  for (const group of groups) expect(share(group)).toBeGreaterThan(0.9)
  const widthOf = (list: typeof told) =>
    Math.exp(list.reduce((sum, { width }) => sum + Math.log(width), 0) / list.length)
  expect(widthOf(groups[0]!)).toBeLessThan(2.5)
  expect(widthOf(groups[2]!)).toBeLessThan(1.5)
})
