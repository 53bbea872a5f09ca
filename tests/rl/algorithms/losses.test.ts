/** Coefficients against central differences of the written loss, on random ragged multi-turn batches. */
import { describe, expect, test } from 'vitest'
import { algorithmById, algorithms } from '#rl/algorithms/registry.ts'
import type { LossRow } from '#rl/algorithms/types.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { type WrittenLoss, writtenLosses } from '../algorithmLosses.ts'

const STEP = 1e-5

/** Ragged rows with gaps between turns, one without any action, arbitrary numbers outside the mask. */
function randomRows(random: SequentialRandom): LossRow[] {
  return Array.from({ length: 6 }, (_, i) => {
    const length = 3 + random.integer(10)
    const floats = (draw: () => number) => Float64Array.from({ length }, draw)
    const actionMask = Uint8Array.from({ length }, () => (i === 2 ? 0 : Number(random.uniform() < 0.7)))
    const logprobs = floats(() => -2 * random.uniform())
    return {
      group: Math.floor(i / 2),
      actionMask,
      turnIds: Int32Array.from(actionMask, (isAction, t) => (isAction === 1 ? Math.floor(t / 4) : -1)),
      turnRewards: [0, 0, 0, 0],
      advantages: floats(() => random.normal()),
      returns: null,
      behaviorValues: null,
      logprobs,
      behaviorLogprobs: logprobs.map((value) => value + 0.3 * random.normal()),
      referenceLogprobs: logprobs.map((value) => value + 0.5 * random.normal()),
      entropies: floats(() => random.uniform()),
      values: null,
      correction: i % 2 === 0 ? null : floats(() => 2 * random.uniform()),
    }
  })
}

function answer({ algorithm, settings }: WrittenLoss, rows: readonly LossRow[], partSize: number) {
  const lossOf = algorithmById(algorithm).configure(settings).minibatchLoss(rows)
  const parts = Array.from({ length: Math.ceil(rows.length / partSize) }, (_, p) =>
    lossOf(rows.slice(p * partSize, (p + 1) * partSize)),
  )
  return {
    loss: parts.reduce((sum, { loss }) => sum + loss, 0),
    slopes: parts.flatMap(({ coefficients }) => coefficients.map(({ logprobs }) => logprobs)),
  }
}

/** ∂loss/∂logprob of every token, by central differences. */
function differences({ loss }: WrittenLoss, rows: readonly LossRow[]): Float64Array[] {
  const constant = rows.map(({ logprobs }) => logprobs)
  const at = (i: number, t: number, shift: number) =>
    loss({
      rows,
      constant,
      logprobs: constant.map((row, j) => (j === i ? row.with(t, row[t]! + shift) : row)),
    })
  return constant.map((row, i) => row.map((_, t) => (at(i, t, STEP) - at(i, t, -STEP)) / (2 * STEP)))
}

const flat = (rows: readonly Float64Array[]): number[] => rows.flatMap((row) => [...row])
const largestGap = (a: readonly Float64Array[], b: readonly Float64Array[]): number =>
  Math.max(...flat(a).map((value, k) => Math.abs(value - flat(b)[k]!)))

describe('every algorithm', () => {
  test('has a written loss to be checked against', () => {
    const written = new Set(writtenLosses.map(({ algorithm }) => algorithm))
    expect(algorithms.map(({ id }) => id).filter((id) => !written.has(id))).toEqual([])
  })

  test.each(writtenLosses)('$algorithm, $name: loss and coefficients', (written) => {
    for (let trial = 0; trial < 20; trial++) {
      const rows = randomRows(new SequentialRandom(randomStream(11, trial)))
      const constant = rows.map(({ logprobs }) => logprobs)
      const { loss, slopes } = answer(written, rows, rows.length)
      expect(loss).toBeCloseTo(written.loss({ rows, constant, logprobs: constant }), 10)
      expect(largestGap(slopes, differences(written, rows))).toBeLessThan(1e-8)
      expect(Math.max(...flat(slopes).map(Math.abs))).toBeGreaterThan(1e-3)

      const inParts = answer(written, rows, 2)
      expect(inParts.loss).toBeCloseTo(loss, 12)
      expect(largestGap(inParts.slopes, slopes)).toBe(0)
    }
  })

  test.each(writtenLosses)('$algorithm, $name: nothing outside the action mask matters', (written) => {
    const rows = randomRows(new SequentialRandom(randomStream(12)))
    const spoil = (row: LossRow, values: Float64Array) =>
      values.map((v, t) => (row.actionMask[t] === 1 ? v : Number.NaN))
    const spoiled = rows.map((row) => ({
      ...row,
      logprobs: spoil(row, row.logprobs),
      behaviorLogprobs: spoil(row, row.behaviorLogprobs),
      referenceLogprobs: spoil(row, row.referenceLogprobs!),
      advantages: spoil(row, row.advantages),
    }))
    expect(answer(written, spoiled, 6)).toEqual(answer(written, rows, 6))
    const outside = answer(written, rows, 6).slopes.flatMap((row, i) =>
      [...row].filter((_, t) => rows[i]!.actionMask[t] === 0),
    )
    expect(outside.every((slope) => slope === 0)).toBe(true)
  })
})
