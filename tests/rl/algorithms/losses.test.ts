/** Coefficients against central differences of the written loss, on random ragged multi-turn batches. */
import { describe, expect, test } from 'vitest'
import { algorithmById, algorithms } from '#rl/algorithms/registry.ts'
import type { LossRow } from '#rl/algorithms/types.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { casesOf } from '../../sweeps.ts'
import { writtenLosses } from '../algorithmLosses.ts'
import type { WrittenLoss } from './writtenLoss.ts'
import { bareExperience } from '../bareExperience.ts'

const STEP = 1e-5
const heads = ['logprobs', 'entropies', 'values'] as const
type Head = (typeof heads)[number]

/** Every head of every row is known. */
type FullRow = LossRow & { readonly values: Float64Array }

/** Ragged rows with gaps between turns, one without any action, arbitrary numbers outside the mask; in pairs. */
function randomRows(random: SequentialRandom): FullRow[] {
  return Array.from({ length: 6 }, (_, i) => {
    const length = 3 + random.integer(10)
    const floats = (draw: () => number) => Float64Array.from({ length }, draw)
    const actionMask = Uint8Array.from({ length }, () => (i === 2 ? 0 : Number(random.uniform() < 0.7)))
    const logprobs = floats(() => -2 * random.uniform())
    return {
      ...bareExperience,
      group: Math.floor(i / 2),
      actionMask,
      turnIds: Int32Array.from(actionMask, (isAction, t) => (isAction === 1 ? Math.floor(t / 4) : -1)),
      turnRewards: [i % 2, 0, 0, 0],
      mismatchedLogRatio: 0.3 * i - 0.2,
      tokenLimit: 16,
      advantages: floats(() => random.normal()),
      returns: floats(() => random.normal()),
      behaviorValues: floats(() => random.normal()),
      behaviorEntropies: floats(() => random.uniform()),
      logprobs,
      behaviorLogprobs: logprobs.map((value) => value + 0.3 * random.normal()),
      referenceLogprobs: logprobs.map((value) => value + 0.5 * random.normal()),
      entropies: floats(() => random.uniform()),
      values: floats(() => random.normal()),
      correction: i % 2 === 0 ? null : floats(() => 2 * random.uniform()),
      samplerLogprobs: i % 2 === 0 ? null : logprobs.map((value) => value + 0.3 * random.normal()),
    }
  })
}

/** Answers somebody wrote have no sampler and no advantage. */
const rowsFor = ({ algorithm }: WrittenLoss, stream: number): FullRow[] => {
  const rows = randomRows(new SequentialRandom(randomStream(11, stream)))
  if (algorithmById(algorithm).experience === 'rollout') return rows
  return rows.map((row) => ({ ...row, advantages: row.advantages.fill(1), correction: null }))
}

function answer({ algorithm, settings }: WrittenLoss, rows: readonly FullRow[], partSize: number) {
  const lossOf = algorithmById(algorithm).configure(settings).minibatchLoss(rows)
  const parts = Array.from({ length: Math.ceil(rows.length / partSize) }, (_, p) =>
    lossOf(rows.slice(p * partSize, (p + 1) * partSize)),
  )
  const coefficients = parts.flatMap((part) => part.coefficients)
  return {
    loss: parts.reduce((sum, { loss }) => sum + loss, 0),
    slopes: (head: Head) =>
      coefficients.map((row, i) => row[head] ?? new Float64Array(rows[i]!.logprobs.length)),
  }
}

function writtenValue(
  { loss }: WrittenLoss,
  rows: readonly FullRow[],
  changed: Partial<Record<Head, Float64Array[]>> = {},
) {
  const given = (head: Head) => changed[head] ?? rows.map((row) => row[head])
  return loss({
    rows,
    logprobs: given('logprobs'),
    entropies: given('entropies'),
    values: given('values'),
    constant: rows.map(({ logprobs }) => logprobs),
  })
}

/** ∂loss/∂head of every token, by central differences. */
function differences(written: WrittenLoss, rows: readonly FullRow[], head: Head): Float64Array[] {
  const start = rows.map((row) => row[head])
  const at = (i: number, t: number, shift: number) =>
    writtenValue(written, rows, {
      [head]: start.map((row, j) => (j === i ? row.with(t, row[t]! + shift) : row)),
    })
  return start.map((row, i) => row.map((_, t) => (at(i, t, STEP) - at(i, t, -STEP)) / (2 * STEP)))
}

/** A head the loss does not look at may be anything. */
const isLookedAt = (written: WrittenLoss, rows: readonly FullRow[], head: Head): boolean => {
  const moved = rows.map((row) => row[head].map((value, t) => value + 0.1 * (t + 1)))
  return writtenValue(written, rows, { [head]: moved }) !== writtenValue(written, rows)
}

const flat = (rows: readonly Float64Array[]): number[] => rows.flatMap((row) => [...row])
const largestGap = (a: readonly Float64Array[], b: readonly Float64Array[]): number => {
  const other = flat(b)
  return Math.max(...flat(a).map((value, k) => Math.abs(value - other[k]!)))
}

describe('every algorithm', () => {
  test('has a written loss to be checked against', () => {
    const written = new Set(writtenLosses.map(({ algorithm }) => algorithm))
    expect(algorithms.map(({ id }) => id).filter((id) => !written.has(id))).toEqual([])
  })

  test.each(writtenLosses)('$algorithm, $name: loss and coefficients', (written) => {
    for (let trial = 0; trial < casesOf(1, 3); trial++) {
      const rows = rowsFor(written, trial)
      const whole = answer(written, rows, rows.length)
      const inParts = answer(written, rows, 2)
      expect(whole.loss).toBeCloseTo(writtenValue(written, rows), 10)
      expect(inParts.loss).toBeCloseTo(whole.loss, 12)
      expect(Math.max(...flat(whole.slopes('logprobs')).map(Math.abs))).toBeGreaterThan(1e-3)
      for (const head of heads) {
        const slopes = whole.slopes(head)
        if (isLookedAt(written, rows, head)) {
          expect(largestGap(slopes, differences(written, rows, head))).toBeLessThan(1e-8)
        } else expect(flat(slopes).every((slope) => slope === 0)).toBe(true)
        expect(largestGap(inParts.slopes(head), slopes)).toBe(0)
      }
    }
  })

  const needsOf = ({ algorithm, settings }: WrittenLoss) => algorithmById(algorithm).configure(settings).needs
  const advantageOnly = writtenLosses.filter((written) => {
    const { reference, entropyGradient, values } = needsOf(written)
    const isRollout = algorithmById(written.algorithm).experience === 'rollout'
    return isRollout && !reference && !entropyGradient && !values
  })
  test.each(advantageOnly)('$algorithm, $name: a zero advantage is a zero coefficient', (written) => {
    const rows = rowsFor(written, 13).map((row, i) =>
      i === 1 ? { ...row, advantages: row.advantages.map(() => 0) } : row,
    )
    const lossOf = algorithmById(written.algorithm).configure(written.settings).minibatchLoss(rows)
    const { coefficients } = lossOf(rows)
    expect([...coefficients[1]!.logprobs].every((slope) => slope === 0)).toBe(true)
    expect(coefficients[0]!.logprobs.some((slope) => slope !== 0)).toBe(true)
  })

  test.each(writtenLosses)('$algorithm, $name: nothing outside the action mask matters', (written) => {
    const rows = rowsFor(written, 12)
    const spoiled = rows.map((row) => {
      const spoil = (values: Float64Array) => values.map((v, t) => (row.actionMask[t] === 1 ? v : Number.NaN))
      return {
        ...row,
        logprobs: spoil(row.logprobs),
        entropies: spoil(row.entropies),
        values: spoil(row.values),
        behaviorLogprobs: spoil(row.behaviorLogprobs),
        referenceLogprobs: spoil(row.referenceLogprobs!),
        behaviorValues: spoil(row.behaviorValues!),
        behaviorEntropies: spoil(row.behaviorEntropies!),
        advantages: spoil(row.advantages),
        returns: spoil(row.returns!),
        correction: row.correction && spoil(row.correction),
        samplerLogprobs: row.samplerLogprobs ? spoil(row.samplerLogprobs) : null,
      }
    })
    const [clean, dirty] = [answer(written, rows, 6), answer(written, spoiled, 6)]
    expect(dirty.loss).toBe(clean.loss)
    for (const head of heads) {
      expect(dirty.slopes(head)).toEqual(clean.slopes(head))
      const outside = clean
        .slopes(head)
        .flatMap((row, i) => [...row].filter((_, t) => rows[i]!.actionMask[t] === 0))
      expect(outside.every((slope) => slope === 0)).toBe(true)
    }
  })

  test.each(writtenLosses)('$algorithm, $name: asks for the heads it uses', (written) => {
    const rows = rowsFor(written, 0)
    const { needs } = algorithmById(written.algorithm).configure(written.settings)
    expect(needs.entropyGradient).toBe(isLookedAt(written, rows, 'entropies'))
    expect(needs.values).toBe(isLookedAt(written, rows, 'values'))
    const otherBehavior = rows.map((row) => ({
      ...row,
      behaviorLogprobs: row.behaviorLogprobs.map((v) => v - 0.2),
    }))
    const constant = rows.map((row) => ({ ...row, behaviorLogprobs: row.behaviorLogprobs.slice() }))
    expect(answer(written, constant, 6).loss).toBe(answer(written, rows, 6).loss)
    if (answer(written, otherBehavior, 6).loss !== answer(written, rows, 6).loss)
      expect(needs.ratio).toBe(true)
  })
})
