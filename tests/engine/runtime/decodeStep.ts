import type { ModelSource } from '#engine/models/source.ts'
import { AdapterParameters } from '#engine/runtime/adapterParameters.ts'
import { Learner } from '#engine/runtime/learner.ts'
import { OrtDecodeStep } from '#engine/runtime/ortDecodeStep.ts'
import { oneThread, randomAdapter, tinyLora } from './tinyModel.ts'

export interface OpenedStep extends Disposable {
  readonly step: OrtDecodeStep
}

/** The generation graph with a random adapter, in f32 on one thread. */
export async function openDecodeStep(
  source: ModelSource,
  { packsWeights = false, sharesPrompts = false } = {},
): Promise<OpenedStep> {
  const learner = await Learner.create({
    source,
    lora: tinyLora,
    device: oneThread,
    backward: ['backward'],
    savedTokens: 0,
    chunkBytes: 1e6,
  })
  const adapter = new AdapterParameters(source.config, tinyLora).load(randomAdapter(source.config))
  const step = await OrtDecodeStep.create({
    source,
    precision: 'f32',
    lora: tinyLora,
    device: oneThread,
    packsWeights,
    sharesPrompts,
    embed: (ids, positions) => learner.embed(ids, positions),
    adapter: () => adapter,
  })
  return {
    step,
    [Symbol.dispose]() {
      learner[Symbol.dispose]()
      step[Symbol.dispose]()
    },
  }
}
