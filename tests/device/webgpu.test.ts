/**
 * Learning and generation on a WebGPU device against the CPU, and what `selftest --full`, `bench` and `probe` say of it: in
 * one process, so that what one case compiles serves the next. Skipped by name where there is no software GPU.
 */
import { describe, expect, test } from 'vitest'
import { architectures } from '#engine/models/registry.ts'
import type { BenchReport } from '#host/checks/benchReport.ts'
import type { ProbeReport } from '#host/checks/probe.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import type {
  ArchitecturesAnswer,
  DecodingAnswer,
  LearningAnswer,
  MemoryAnswer,
  NoiseAnswer,
  PlacementAnswer,
  ProofAnswer,
  ReopeningAnswer,
} from './checks.ts'
import type { TrainingAnswer } from './trainingCheck.ts'
import type { UpdatesAnswer } from './updatesCheck.ts'
import type { AloneAnswer, HalvesAnswer, HeldAnswer } from './heldChecks.ts'
import { casesOf, eachOf, isLong, isWhole, longTitle, wholeTitle } from '../sweeps.ts'
import { missingSoftwareGpu } from './softwareDriver.ts'
import { onSoftwareGpu } from './softwareGpu.ts'

const title = missingSoftwareGpu === null ? 'webgpu' : `webgpu (skipped: ${missingSoftwareGpu})`

/** Without shapes and indices, which the runtime keeps on the host by design: what has a number of the model. */
const numbersOf = (nodes: readonly string[]): string[] =>
  nodes.filter((node) => !/^(Shape|Concat|Reshape|Gather|Slice) of int64$/.test(node))

describe.skipIf(missingSoftwareGpu !== null)(title, () => {
  // First of all: later, others have compiled what it compiles.
  const compiled = 'what was compiled for the device stays when the last session closes'
  test.runIf(isWhole)(wholeTitle(compiled), async () => {
    const { first, again } = await onSoftwareGpu<ReopeningAnswer>('reopening')
    expect(again).toBeLessThan(first / 2)
  })

  test('learns as the CPU does: actor, critic, entropy and dropout, in two segments', async () => {
    const { actor, critic, heads } = await onSoftwareGpu<LearningAnswer>('learning')
    expect(actor).toBeLessThan(1e-4)
    expect(critic).toBeLessThan(1e-4)
    expect(heads).toBeLessThan(1e-4)
  })

  const updates = 'sums gradients and steps there: updates leave the bytes that they leave with the host'
  test.runIf(isWhole)(wholeTitle(updates), async () => {
    const { different, unsummed, moved } = await onSoftwareGpu<UpdatesAnswer>('updates')
    expect(unsummed).toBe(0)
    expect(different).toBe(0)
    expect(moved).toBeGreaterThan(1000)
  })

  // In slices of 1,024 bytes there are more of them than a kernel has buffers.
  eachOf(
    test,
    { rows: ['int4', '1024', ...(isLong ? ['int8'] : [])], isAlways: () => false },
    'computes with a base as it is held, and in slices, as the CPU does: %s',
    async (how) => {
      const { heads, gradients, samplerGap } = await onSoftwareGpu<HeldAnswer>('held', how)
      expect(heads).toBeLessThan(1e-4)
      expect(gradients).toBeLessThan(1e-4)
      expect(samplerGap).toMatchObject({ passed: true })
    },
  )

  eachOf(
    test,
    { rows: ['f32', 'int4'], isAlways: () => false },
    'answers without an adapter as the CPU does, in %s',
    async (base) => {
      const { same, heads } = await onSoftwareGpu<AloneAnswer>('alone', base)
      expect(same).toBe(true)
      expect(heads).toBeLessThan(1e-4)
    },
  )

  test('takes a base in f16 where the adapter has 16 bits, and refuses it in a sentence elsewhere', async () => {
    const { refusal, has } = await onSoftwareGpu<HalvesAnswer>('halves')
    const reason =
      'The adapter of WebGPU here has no numbers in 16 bits (shader-f16), which a base in f16 needs.'
    const hint = 'Set base.precision to int8, int4 or f32, or choose another device.'
    expect(refusal).toEqual(has ? null : ['device/unavailable', reason, hint])
  })

  test.runIf(isWhole)(wholeTitle('multiplies with a base in 4 bits on the device'), async () => {
    const { elsewhere } = await onSoftwareGpu<PlacementAnswer>('placement', '1', 'int4')
    expect(Object.keys(elsewhere)).toEqual(
      expect.arrayContaining(['score', 'learnEntropy', 'decode for choice']),
    )
    const { 'upload of uint8, rank 3': uploads, ...programs } = elsewhere
    expect(new Set(uploads)).toEqual(new Set(['Concat of uint8'])) // with nothing: what is fed becomes the device's
    expect(numbersOf(Object.values(programs).flat())).toEqual([])
  })

  test.runIf(isWhole)(wholeTitle('generates the ids of the CPU, greedy and sampled'), async () => {
    const answer = await onSoftwareGpu<DecodingAnswer>('decoding')
    for (const { same, logprobs, tokens } of [answer.greedy, answer.sampled]) {
      expect(tokens).toBe(8 * 40)
      expect(same).toBe(true)
      expect(logprobs).toBeLessThan(1e-4)
    }
  })

  const proof =
    'is refused with a clear sentence when a kernel is wrong, taken when it is right, and not by auto when it is slow'
  test.runIf(isLong)(longTitle(proof), async () => {
    const { refusal, after, auto } = await onSoftwareGpu<ProofAnswer>('proof')
    expect(refusal).toMatch(
      /^AppError: WebGPU computes wrong results on this machine: \d+ of \d+ checks of the self-test failed, first operators\/RmsNorm, with an error of [\d.e+]+ where 1e-4 is allowed\.$/,
    )
    expect(after).toMatchObject({ failures: [], problem: null })
    // Slower than the CPU that it computes on: measured so, or given up.
    expect(after?.speeds).not.toEqual([])
    for (const { ratio } of after?.speeds ?? []) expect(ratio ?? 0).toBeLessThan(1)
    expect(auto).toEqual(['cpu', 'cpu'])
  })

  // That the guard stops such a run is said on the CPU in every run (updateGuard.test.ts).
  const noise = 'trains on noise for no step, even where the self-test is said to have passed'
  test.runIf(isLong)(longTitle(noise), async () => {
    const { refusal, written } = await onSoftwareGpu<NoiseAnswer>('noise')
    expect(refusal).toMatch(
      /^AppError: In step 1 the gradient norm became \d\.\de\+\d\d, more than any f32 computation gives for such a loss; the update was not applied\.$/,
    )
    expect(written).toEqual([])
  })

  test('computes all but lengths on the device, and copies no more for more layers', async () => {
    const [one, two] = [
      await onSoftwareGpu<PlacementAnswer>('placement', '1'),
      await onSoftwareGpu<PlacementAnswer>('placement', '2'),
    ]
    const learning = ['score', 'learnEntropy', 'adapter', 'sum', 'adamw']
    const sessions = [...learning, 'prompt for probabilities', 'decode for choice']
    expect(Object.keys(one.copies)).toEqual(expect.arrayContaining(sessions))
    expect(numbersOf(Object.values(two.elsewhere).flat())).toEqual([])
    expect(two.elsewhere).toEqual(one.elsewhere)
    expect(two.copies).toEqual(one.copies)
    expect(Math.max(...Object.values(two.copies))).toBeLessThanOrEqual(3)
  })

  const demo = 'the demo learns on webgpu what it learns on the CPU, step by step'
  test.runIf(isWhole)(wholeTitle(demo), async () => {
    const { steps } = await onSoftwareGpu<TrainingAnswer>('training')
    expect(steps).toHaveLength(casesOf(1, 2))
    for (const { rewards, norm, gradient, gap } of steps) {
      expect(rewards[1]).toBe(rewards[0]) // the completions are the same
      expect(norm).toBeLessThan(1e-3)
      expect(gradient).toBeLessThan(1e-3)
      expect(gap).toBeLessThan(1e-4)
    }
  })

  test('too little memory is told apart from other errors, and what fits goes on', async () => {
    const { answers } = await onSoftwareGpu<MemoryAnswer>('memory')
    expect(answers).toEqual([...Array<string>(3).fill('device/out-of-memory'), '1.000'])
  })

  // Beside tiny-llama above, as far apart as architectures go: fused linears with learned positions, soft caps and windows.
  const groups = [
    ['two architectures', 'tiny-gpt2 tiny-gemma2'] as const,
    ...(isLong ? [['every architecture', 'all'] as const] : []),
  ]
  const gradients = '%s: the gradients of the CPU, of every linear, and no sampler gap'
  eachOf(test, { rows: groups, isAlways: () => false }, gradients, async (_, names) => {
    const answers = await onSoftwareGpu<ArchitecturesAnswer>('architectures', names)
    const families = Object.keys(answers).map((name) => modelShapes[name as ModelShapeName].modelType)
    if (names === 'all')
      expect(new Set(families)).toEqual(new Set(architectures.map(({ modelType }) => modelType)))
    else expect(families).toHaveLength(2)
    for (const { gradients, samplerGap } of Object.values(answers)) {
      const errors = Object.entries(gradients)
      expect(errors.length).toBeGreaterThanOrEqual(8)
      expect(errors.filter(([, error]) => !(error < 1e-4))).toEqual([])
      expect(samplerGap).toMatchObject({ passed: true })
    }
  })

  // That a bench on the device has the tokens of the CPU is said by the rehearsal in every run.
  const bench = 'a bench measures the device, and it computes what the CPU does'
  test.runIf(isLong)(longTitle(bench), async () => {
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

  test.runIf(isWhole)(wholeTitle('the constant probe is solved'), async () => {
    const report = await onSoftwareGpu<ProbeReport>('probe')
    expect(report.before.sampledAccuracy).toBeLessThan(0.5)
    expect(report).toMatchObject({ passed: true, greedyAccuracy: 1 })
  })
})
