/** Learning and generation on a WebGPU device against the CPU. Skipped by name where there is no software GPU. */
import { describe, expect, test } from 'vitest'
import type { DecodingAnswer, LearningAnswer, NoiseAnswer, PlacementAnswer, ProofAnswer } from './checks.ts'
import type { UpdatesAnswer } from './updatesCheck.ts'
import type { AloneAnswer, HalvesAnswer, HeldAnswer } from './heldChecks.ts'
import { isLong, longTitle } from '../sweeps.ts'
import { missingSoftwareGpu } from './softwareDriver.ts'
import { onSoftwareGpu } from './softwareGpu.ts'

const title = missingSoftwareGpu === null ? 'webgpu' : `webgpu (skipped: ${missingSoftwareGpu})`

/** Without shapes and indices, which the runtime keeps on the host by design: what has a number of the model. */
const numbersOf = (nodes: readonly string[]): string[] =>
  nodes.filter((node) => !/^(Shape|Concat|Reshape|Gather|Slice) of int64$/.test(node))

describe.skipIf(missingSoftwareGpu !== null)(title, () => {
  test('learns as the CPU does: actor, critic, entropy and dropout, in two segments', async () => {
    const { actor, critic, heads } = await onSoftwareGpu<LearningAnswer>('learning')
    expect(actor).toBeLessThan(1e-4)
    expect(critic).toBeLessThan(1e-4)
    expect(heads).toBeLessThan(1e-4)
  })

  test('sums gradients and steps there: twenty updates leave the bytes that they leave with the host', async () => {
    const { different, unsummed, moved } = await onSoftwareGpu<UpdatesAnswer>('updates')
    expect(unsummed).toBe(0)
    expect(different).toBe(0)
    expect(moved).toBeGreaterThan(1000)
  })

  // In slices of 1,024 bytes there are more of them than a kernel has buffers.
  test.each(['int4', 'int8', '1024'])(
    'computes with a base as it is held, and in slices, as the CPU does: %s',
    async (how) => {
      const { heads, gradients, samplerGap } = await onSoftwareGpu<HeldAnswer>('held', how)
      expect(heads).toBeLessThan(1e-4)
      expect(gradients).toBeLessThan(1e-4)
      expect(samplerGap).toMatchObject({ passed: true })
    },
  )

  test.each(['f32', 'int4'])('answers without an adapter as the CPU does, in %s', async (base) => {
    const { same, heads } = await onSoftwareGpu<AloneAnswer>('alone', base)
    expect(same).toBe(true)
    expect(heads).toBeLessThan(1e-4)
  })

  test('takes a base in f16 where the adapter has 16 bits, and refuses it in a sentence elsewhere', async () => {
    const { refusal, has } = await onSoftwareGpu<HalvesAnswer>('halves')
    const reason =
      'The adapter of WebGPU here has no numbers in 16 bits (shader-f16), which a base in f16 needs.'
    const hint = 'Set base.precision to int8, int4 or f32, or choose another device.'
    expect(refusal).toEqual(has ? null : ['device/unavailable', reason, hint])
  })

  test('multiplies with a base in 4 bits on the device', async () => {
    const { elsewhere } = await onSoftwareGpu<PlacementAnswer>('placement', '1', 'int4')
    expect(Object.keys(elsewhere)).toEqual(
      expect.arrayContaining(['score', 'learnEntropy', 'decode for choice']),
    )
    const { 'upload of uint8, rank 3': uploads, ...programs } = elsewhere
    expect(new Set(uploads)).toEqual(new Set(['Concat of uint8'])) // with nothing: what is fed becomes the device's
    expect(numbersOf(Object.values(programs).flat())).toEqual([])
  })

  test.each(['greedy', 'sampled'])('generates the ids of the CPU, %s', async (kind) => {
    const { same, logprobs, tokens } = await onSoftwareGpu<DecodingAnswer>('decoding', kind)
    expect(tokens).toBe(8 * 40)
    expect(same).toBe(true)
    expect(logprobs).toBeLessThan(1e-4)
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

  test('trains on noise for no step, even where the self-test is said to have passed', async () => {
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
})
