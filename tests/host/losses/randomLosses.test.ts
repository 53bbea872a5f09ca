/**
 * Operations of losses against PyTorch: what is broadcast to what, means and masks, and every derivative, in losses that
 * are made up at random; recorded ones everywhere, fresh ones where Python has PyTorch.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { casesOf } from '../../sweeps.ts'
import { hasPython } from '../python/interpreter.ts'
import { randomLoss, randomRows } from './randomLosses.ts'
import {
  distance,
  here,
  inTorch,
  isFinite,
  programsOf,
  recordedFile,
  recordedRows,
  summaryOf,
} from './torchLosses.ts'

const rounding = 1e-9

test('500 recorded losses have the value and the gradient that PyTorch gives them', async () => {
  const lines = readFileSync(recordedFile, 'utf8').trimEnd().split('\n')
  const recorded = lines.map((line) => JSON.parse(line) as { js: string; torch: number[] })
  expect(recorded).toHaveLength(500)
  const rows = randomRows(recordedRows)
  const programs = await programsOf(recorded.map(({ js }) => js))
  const wrong = recorded.filter(({ torch }, i) => {
    const { program } = programs[i]!
    if (program === null) return true
    const largest = Math.max(1, ...torch.map(Math.abs))
    return summaryOf(here(program, rows)).some((x, k) => !(Math.abs(x - torch[k]!) <= rounding * largest))
  })
  expect(wrong.map(({ js }) => js)).toEqual([])
})

const hasTorch = hasPython('torch')
const count = casesOf(500, 5000)
const without = hasTorch ? '' : ' (skipped without Python with torch)'

test.runIf(hasTorch)(`fresh losses agree with PyTorch${without}`, async () => {
  for (let first = 1000; first < 1000 + count; first += 500) {
    const losses = Array.from({ length: 500 }, (_, i) => randomLoss(first + i))
    const rows = randomRows(first)
    const torch = inTorch(losses, rows)
    const programs = await programsOf(losses.map(({ js }) => js))
    const compared = losses.filter((_, i) => isFinite(torch[i]!))
    expect(compared.length).toBeGreaterThan(450)
    const wrong = losses.filter((_, i) => {
      const { program } = programs[i]!
      return (
        isFinite(torch[i]!) && (program === null || !(distance(here(program, rows), torch[i]!) <= rounding))
      )
    })
    expect(wrong).toEqual([])
  }
})
