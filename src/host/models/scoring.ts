/** Log-probabilities and adapter gradients of given token sequences. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { TokenSequence } from '#engine/policy.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { peftTensorName } from '#host/adapters/peft.ts'
import { share } from '#host/files/permissions.ts'
import { f32ToWrite, writeSafetensors } from '#host/files/safetensors.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { tokenBatches, type OpenedModel } from './openModel.ts'
import type { SequenceInput } from './sequenceInput.ts'

/** [L−1] per sequence; entry t is the prediction of token t+1; nats. */
export interface Scores {
  readonly logprobs: number[][]
  readonly entropy: number[][]
}

/** Scores every prediction of every sequence. */
export async function scoreSequences({ policy, role }: OpenedModel, input: SequenceInput): Promise<Scores> {
  const heads = await policy.score(input.sequences.map(wholeSequence), {
    role,
    temperature: input.temperature,
  })
  return {
    logprobs: heads.map(({ logprobs }) => [...logprobs]),
    entropy: heads.map(({ entropies }) => [...entropies]),
  }
}

/** Gradient of Σ coefficient · log-probability with respect to every adapter tensor. */
export async function adapterGradients(
  { policy }: OpenedModel,
  {
    sequences,
    coefficients,
    temperature,
  }: SequenceInput & { readonly coefficients: readonly Float64Array[] },
): Promise<NamedTensor[]> {
  const rows = sequences.map((ids, index) => ({
    ...wholeSequence(ids),
    coefficients: coefficients[index] ?? new Float64Array(),
  }))
  policy.discardGradients()
  for (const batch of tokenBatches(rows)) {
    await policy.accumulate(batch, { temperature, entropyGradient: false }, () =>
      batch.map((row) => ({ logprobs: row.coefficients, entropies: null, values: null })),
    )
  }
  return policy.gradientTensors()
}

/** Every prediction counts. */
const wholeSequence = (ids: Int32Array): TokenSequence => ({
  ids,
  actionMask: new Uint8Array(ids.length - 1).fill(1),
})

/** Writes tensors under PEFT's names as `gradients.safetensors`; returns the file's path. */
export async function writeGradients(directory: string, gradients: readonly NamedTensor[]): Promise<string> {
  const isNew = !existsSync(directory)
  makeFolder(directory)
  const file = path.join(directory, 'gradients.safetensors')
  const tensors = gradients.map((tensor) => f32ToWrite({ ...tensor, name: peftTensorName(tensor.name) }))
  await writeSafetensors(file, tensors, { metadata: { format: 'pt' } })
  share(isNew ? directory : file)
  return file
}
