import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { beginFolder, finishFolder } from '#host/export/exportFolder.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import {
  compareAnswers,
  logprobLimit,
  parityLine,
  type LiveAnswers,
  type ParityReader,
} from '#host/export/parity.ts'
import { adapterLine, mergedLines, productLine } from '#host/export/weightParity.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { randomFixture, type ExportFixture } from './exportFixture.ts'

const root = temporaryFolder()

/** Two texts of three tokens; each continued by [5, 6]. */
const live: LiveAnswers = {
  prompts: [Int32Array.of(1, 2, 3), Int32Array.of(2, 3, 4)],
  sequences: [Int32Array.of(1, 2, 3, 5, 6), Int32Array.of(2, 3, 4, 5, 6)],
  logprobs: [Float64Array.of(-1, -2, -3, -4), Float64Array.of(-2, -1, -2, -8)],
  greedy: [Int32Array.of(5, 6), Int32Array.of(5, 6)],
  adapterEffect: 1,
}

/** Says the same but for `shift` nats, and continues the first text with `second` after the 5. */
const reader = (shift: number, second = 6, margin = 0): ParityReader => ({
  score: (sequences) =>
    Promise.resolve(
      sequences.map((ids, index) =>
        // Two candidates for one place, or the whole sequences.
        ids.length === 5 && sequences === live.sequences
          ? (live.logprobs[index] ?? new Float64Array()).map((value) => value + shift)
          : Float64Array.of(ids.at(-1) === 6 ? -1 - margin : -1),
      ),
    ),
  proceed: (prompts) =>
    Promise.resolve(prompts.map((_, index) => Int32Array.of(5, index === 0 ? second : 6))),
})

const limits = (largest: number) => ({ largest, mean: null })

describe('comparing answers', () => {
  test('the largest difference counts, and may be as large as the limit', async () => {
    const [logprobs, greedy] = await compareAnswers(live, reader(2 ** -14), limits(2 ** -14))
    expect(logprobs).toMatchObject({ measured: 2 ** -14, limit: 2 ** -14, passed: true })
    expect(logprobs?.sentence).toContain('8 tokens of 2 texts')
    expect(greedy).toMatchObject({
      measured: 0,
      passed: true,
      sentence: expect.stringContaining('4 of 4') as string,
    })
    expect((await compareAnswers(live, reader(0.001), limits(1e-4)))[0]?.passed).toBe(false)
    expect((await compareAnswers(live, reader(NaN), limits(1e-4)))[0]?.passed).toBe(false)
  })

  test('another token passes only where the two are tied', async () => {
    const [, tied] = await compareAnswers(live, reader(0, 9, 1e-5), limits(1e-4))
    expect(tied).toMatchObject({ passed: true, sentence: expect.stringContaining('3 of 4') as string })
    const [, other] = await compareAnswers(live, reader(0, 9, 0.5), limits(1e-4))
    expect(other).toMatchObject({ passed: false, measured: 0.5 })
  })

  test('half types are allowed more, by their roundoff; f32 is not', () => {
    expect(logprobLimit('F32', live, 100)).toBe(1e-4)
    expect(logprobLimit('BF16', live, 16)).toBeCloseTo(1e-4 + (4 * 8) / 256, 12)
    expect(logprobLimit('F16', live, 16)).toBeCloseTo(1e-4 + (4 * 8) / 2048, 12)
  })

  test('what is no number does not pass and can be written as JSON', () => {
    expect(parityLine('', NaN, 1)).toMatchObject({ passed: false, measured: Number.MAX_VALUE })
  })
})

describe('comparing weights', () => {
  const random = new SequentialRandom(randomStream(3))
  const spoiled = ({ adapter }: ExportFixture, change: (value: number) => number) => ({
    ...adapter,
    tensors: adapter.tensors.map((tensor, index) =>
      index === 3 ? { ...tensor, data: tensor.data.with(0, change(tensor.data[0]!)) } : tensor,
    ),
  })

  test('one wrong number in an adapter is found, and a missing tensor', async () => {
    const fixture = await randomFixture(path.join(root, 'a'), 'tiny-llama')
    const { adapter, model } = fixture
    expect(adapterLine(adapter, adapter)).toMatchObject({ measured: 0, passed: true })
    const wrong = spoiled(fixture, (value) => value + 0.01 + random.uniform())
    expect(adapterLine(adapter, wrong).passed).toBe(false)
    expect(adapterLine(adapter, { ...adapter, tensors: adapter.tensors.slice(1) }).passed).toBe(false)
    const compared = (readBack: typeof adapter) =>
      productLine(model.config, { trained: adapter, readBack, type: 'F32' })
    expect(compared(adapter)).toMatchObject({ measured: 0, passed: true })
    expect(compared(wrong).passed).toBe(false)
    const scaled = { ...adapter, config: { ...adapter.config, rsLora: false } }
    expect(compared(scaled)).toMatchObject({ passed: false })
  })

  test('a merged model of another adapter, and one with a changed byte elsewhere, are found', async () => {
    const fixture = await randomFixture(path.join(root, 'b'), 'tiny-llama', { dtype: 'BF16' })
    const { directory } = await fixture.export({ format: 'merged' })
    const merged = openModelFolder(directory)
    const passed = (lines: ReturnType<typeof mergedLines>) => lines.map((line) => line.passed)
    expect(passed(mergedLines(fixture.model, merged, fixture.adapter))).toEqual([true, true])
    const other = spoiled(fixture, (value) => value + 1)
    expect(passed(mergedLines(fixture.model, merged, other))).toEqual([false, true])
    expect(passed(mergedLines(fixture.model, fixture.model, fixture.adapter))).toEqual([false, true])
    const less = { ...fixture.adapter, config: { ...fixture.adapter.config, targets: ['q_proj'] as const } }
    expect(passed(mergedLines(fixture.model, merged, less))).toEqual([true, false])
  })
})

test('a folder has its name only when it passed', () => {
  const out = path.join(root, 'out')
  const folder = beginFolder(out)
  writeFileSync(path.join(folder, 'x'), '')
  expect(existsSync(out)).toBe(false)
  expect(finishFolder(out, false)).toBe(`${out}-failed`)
  expect(existsSync(out)).toBe(false)
  mkdirSync(out) // an empty one is as good as none
  writeFileSync(path.join(beginFolder(out), 'y'), '')
  expect(finishFolder(out, true)).toBe(out)
  expect(existsSync(path.join(out, 'y'))).toBe(true)
})
