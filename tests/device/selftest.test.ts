/** What `selftest --full` and `probe` check, on a WebGPU device. Skipped by name where there is no software GPU. */
import { describe, expect, test } from 'vitest'
import { architectures } from '#engine/models/registry.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import type { BenchReport } from '#host/checks/benchReport.ts'
import type { ProbeReport } from '#host/checks/probe.ts'
import type { ArchitecturesAnswer, MemoryAnswer, ReopeningAnswer } from './checks.ts'
import { isLong } from '../sweeps.ts'
import { missingSoftwareGpu } from './softwareDriver.ts'
import { onSoftwareGpu } from './softwareGpu.ts'

const title = missingSoftwareGpu === null ? 'selftest' : `selftest (skipped: ${missingSoftwareGpu})`

describe.skipIf(missingSoftwareGpu !== null)(title, () => {
  test('what was compiled for the device stays when the last session closes', async () => {
    const { first, again } = await onSoftwareGpu<ReopeningAnswer>('reopening')
    expect(again).toBeLessThan(first / 2)
  })

  test('too little memory is told apart from other errors, and what fits goes on', async () => {
    const { answers } = await onSoftwareGpu<MemoryAnswer>('memory')
    expect(answers).toEqual([...Array<string>(3).fill('device/out-of-memory'), '1.000'])
  })

  // Apart as far as architectures go: separate linears, fused ones with learned positions, soft caps and windows.
  test.each([
    ['three architectures', 'tiny-llama tiny-gpt2 tiny-gemma2'] as const,
    ...(isLong ? [['every architecture', 'all'] as const] : []),
  ])('%s: the gradients of the CPU, of every linear, and no sampler gap', async (_, names) => {
    const answers = await onSoftwareGpu<ArchitecturesAnswer>('architectures', names)
    const families = Object.keys(answers).map((name) => modelShapes[name as ModelShapeName].modelType)
    if (names === 'all')
      expect(new Set(families)).toEqual(new Set(architectures.map(({ modelType }) => modelType)))
    else expect(families).toHaveLength(3)
    for (const { gradients, samplerGap } of Object.values(answers)) {
      const errors = Object.entries(gradients)
      expect(errors.length).toBeGreaterThanOrEqual(8)
      expect(errors.filter(([, error]) => !(error < 1e-4))).toEqual([])
      expect(samplerGap).toMatchObject({ passed: true })
    }
  })

  test('a bench measures the device, and it computes what the CPU does', async () => {
    const report = await onSoftwareGpu<BenchReport>('bench')
    expect(report).toMatchObject({ device: 'webgpu', parity: { tokens: 128, sameTokens: 128 } })
    expect(report.parity!.gradient).toBeLessThan(1e-4)
    expect(report.parity!.gradient).toBeGreaterThan(0) // two devices did compute
    expect(report.parity!.logprobs).toBeLessThan(1e-4)
    expect(report.train!.tokensPerSecond).toBeGreaterThan(0)
    // Rollouts read the weights that are there, whatever precisions are asked for.
    expect(report.decode!.map(({ precision }) => precision)).toEqual(['f32'])
    expect(report.matmulPeakGflops).toBeGreaterThan(0)
  })

  test('the constant probe is solved', async () => {
    const report = await onSoftwareGpu<ProbeReport>('probe')
    expect(report.before.sampledAccuracy).toBeLessThan(0.5)
    expect(report).toMatchObject({ passed: true, greedyAccuracy: 1 })
  })
})
