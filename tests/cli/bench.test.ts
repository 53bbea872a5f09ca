import { describe, expect, test } from 'vitest'
import { benchRequest, parseLengths, reportLines } from '#cli/commands/bench.ts'
import type { BenchReport, BenchRequest } from '#host/checks/benchReport.ts'
import { createWorkplace, linesOf } from './turnwise.ts'
import { isWhole, wholeTitle } from '../sweeps.ts'

describe('lengths', () => {
  test.each([
    ['8x256', { rows: 8, from: 256, to: 256 }],
    ['16x32-512', { rows: 16, from: 32, to: 512 }],
  ])('%s', (given, lengths) => {
    expect(parseLengths(given)).toEqual(lengths)
  })

  test.each(['8', 'x5', '0x5', '8x1', '8x9-5', '8x-5', '8x5-6-7', '1e3x5', '9999999x5'])(
    '%s is wrong usage',
    (given) => {
      expect(() => parseLengths(given)).toThrow(`not “${given}”`)
    },
  )
})

test('a bench of one part asks for that part only', () => {
  const options = {
    model: undefined,
    shape: 'tiny-llama',
    device: 'cpu' as const,
    threads: 2,
    batch: [1, 4],
    precision: ['int8'] as const,
    base: 'int4' as const,
    only: ['decode'] as const,
    steps: 5,
    lengths: undefined,
    activations: 'save' as const,
    rank: 4,
  }
  expect(benchRequest(options, '/data')).toMatchObject({
    subject: { shape: 'tiny-llama' },
    device: 'cpu',
    threads: 2,
    parts: ['decode'],
    batches: [1, 4],
    precisions: ['int8'],
    base: 'int4',
    steps: 5,
    lengths: { rows: 8, from: 256, to: 256 },
    activations: 'save',
  })
})

test('a device is measured in every part, and proves itself beside the CPU', () => {
  const partsOf = (device: 'cpu' | 'webgpu', only?: BenchRequest['parts']) => {
    const others = { model: undefined, shape: undefined, threads: undefined, lengths: undefined, steps: 1 }
    const kinds = { batch: [1], precision: ['f32'], base: 'f32', activations: 'save', rank: 4 } as const
    return benchRequest({ ...others, ...kinds, device, only }, '/data').parts
  }
  expect(partsOf('cpu')).toEqual(['prefill', 'decode', 'train'])
  expect(partsOf('webgpu')).toEqual(['prefill', 'decode', 'train', 'step', 'parity'])
  expect(partsOf('webgpu', ['step', 'parity'])).toEqual(['step', 'parity'])
})

test('the report is a table', () => {
  const report: BenchReport = {
    shape: 'smol-30m',
    device: 'cpu',
    threads: 2,
    matmulPeakGflops: 101.25,
    prefill: { tokensPerSecond: 1500.4, groupOfEight: 1.02 },
    decode: [{ batch: 16, precision: 'int8', tokensPerSecond: 99.95 }],
    train: {
      tokensPerSecond: 820,
      peakFraction: 0.834,
      computedPeakFraction: 0.751,
      anonymousBytes: 5.1e8,
      mappedBytes: null,
    },
    step: {
      completions: 32,
      promptTokens: 64,
      newTokens: 64,
      seconds: 1.5,
      rolloutSeconds: 1,
      updateSeconds: 0.5,
    },
    parity: { reference: 'f32', tokens: 128, sameTokens: 127, logprobs: 1e-6, gradient: 2e-7 },
  }
  expect(reportLines(report)).toEqual([
    'smol-30m on 2 threads; matmul peak 101.3 GFLOP/s',
    '',
    'part     batch  weights  tokens/s  of peak',
    'prefill                      1500',
    'decode      16  int8        100.0',
    'train           f32           820     83 %',
    'A group of 8 prefills its prompt in 1.02 times the time of one completion.',
    'Counting only what is actually computed: 75 % of peak.',
    'Training memory: 510 MB private, mapped weights unknown.',
    'A GRPO step of 32 completions, 64 prompt tokens and 64 new tokens each: 1.50 s, rollout 1.00, update 0.50.',
    'Compared with the CPU in f32: 127 of 128 greedy tokens equal, log-probabilities differ by 1.0e-6, gradients by 2.0e-7.',
  ])
})

// In every run deviceBench.test.ts measures by this command.
const measured = 'measures for real, and says it as JSON'
test.runIf(isWhole)(wholeTitle(measured), async () => {
  using place = createWorkplace()
  const done = await place.run(
    ...[
      'bench',
      '--shape',
      'tiny-llama',
      '--only',
      'train',
      '--steps',
      '1',
      '--lengths',
      '2x8-16',
      '--threads',
      '1',
      '--json',
    ],
  )
  expect(done.status).toBe(0)
  const [report] = linesOf(done.stdout) as [BenchReport]
  expect(Object.keys(report)).toEqual(['shape', 'device', 'threads', 'matmulPeakGflops', 'train'])
  expect(report).toMatchObject({ shape: 'tiny-llama', threads: 1 })
  expect(report.train?.tokensPerSecond).toBeGreaterThan(0)
  expect(report.train?.peakFraction).toBeLessThan(1.2)
  expect(report.train?.anonymousBytes).toBeGreaterThan(1e6)
})
