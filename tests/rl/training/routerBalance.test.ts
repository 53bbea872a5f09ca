/** How evenly experts are used, against transformers' `load_balancing_loss_func` on the same weights. */
import { expect, test } from 'vitest'
import type { OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { balanceLoss, summedUse, useOf } from '#rl/training/routerBalance.ts'
import {
  modelTypeOf,
  openReference,
  readReference,
  referenceNames,
  wholeSequence,
} from '../../engine/runtime/referenceFixture.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'

const cache = temporaryFolder()
const mixtures = referenceNames.filter((name) =>
  ['qwen3_moe', 'olmoe', 'granitemoe', 'gpt_oss'].includes(modelTypeOf(name)),
)

/** Decisions while learning from all sequences, each in a micro-batch of its own or in one. */
async function usedBy(
  name: string,
  { apart = false, ...options }: Partial<OrtPolicyOptions> & { apart?: boolean },
) {
  const reference = readReference(name)
  using policy = await openReference(reference, cache, options)
  // A sequence that another begins with counts as often as it is there.
  const sequences = reference.sequences.map(wholeSequence)
  const groups = apart ? sequences.map((sequence) => [sequence]) : [sequences]
  const learning = { temperature: 1, entropyGradient: false }
  const heads = []
  for (const group of groups) {
    const nothing = group.map(({ actionMask }) => ({
      logprobs: new Float64Array(actionMask.length),
      entropies: null,
      values: null,
    }))
    heads.push(...(await policy.accumulate(group, learning, () => nothing)))
  }
  return { reference, use: useOf(heads)! }
}

test('every mixture has the loss of transformers', () => {
  expect(mixtures.map((name) => typeof readReference(name).balance)).toEqual(mixtures.map(() => 'number'))
  expect(mixtures.length).toBe(6)
})

test.each(mixtures)('%s: the loss is that of transformers', async (name) => {
  for (const options of [{}, { activations: 'save', apart: true }] as const) {
    const { reference, use } = await usedBy(name, options)
    expect(balanceLoss(use) / reference.balance!).toBeCloseTo(1, 5)
  }
})

test('a prompt that sequences share counts in each of them', async () => {
  using policy = await openReference(readReference('olmoe'), cache)
  const sequences = [
    [1, 2, 3, 4, 5, 6],
    [1, 2, 3, 4, 9],
  ].map(wholeSequence)
  const learn = async (group: typeof sequences) => {
    const heads = await policy.accumulate(group, { temperature: 1, entropyGradient: false }, (heads) =>
      heads.map(({ logprobs }) => ({ logprobs: logprobs.map(() => 0), entropies: null, values: null })),
    )
    return useOf(heads)
  }
  const together = await learn(sequences)
  const alone = summedUse([await learn(sequences.slice(0, 1)), await learn(sequences.slice(1))])
  expect([together!.decisions, [...together!.chosen]]).toEqual([alone!.decisions, [...alone!.chosen]])
  expect(together!.decisions).toBe(2 * (5 + 4))
})

test('models without experts have no such loss', async () => {
  using policy = await openReference(readReference('llama-grouped'), cache)
  const heads = await policy.score([wholeSequence([1, 2, 3])], { role: 'actor', temperature: 1 })
  expect(useOf(heads)).toBeNull()
})
