/** Who computes for a policy: on the CPU layer by layer, on a device that holds tensors in whole programs. */
import { holdsTensors } from '#shared/device.ts'
import type { ModelSource } from '../models/source.ts'
import type { LoraConfig } from '../models/config.ts'
import type { AdapterParameters, AnsweringRole } from './adapterParameters.ts'
import { AdapterUpload } from './deviceAdapter.ts'
import { DeviceDecoder } from './deviceDecoder.ts'
import { DeviceTensors } from './deviceTensors.ts'
import type { Decoder } from './generation/decoder.ts'
import { HostDecoder } from './generation/hostDecoder.ts'
import { Learner, type LearnerOptions } from './learner.ts'
import { OrtDecodeStep, type DecodeStepOptions } from './ortDecodeStep.ts'
import type { LearningWorker } from './replica.ts'
import { SegmentLearner } from './segmentLearner.ts'

export interface PolicyProgramOptions extends Pick<DecodeStepOptions, 'precision' | 'packsWeights'> {
  readonly source: ModelSource
  readonly lora: LoraConfig
  readonly learning: LearnerOptions
  /** Layers of one program where there are several in one; if absent, layer by layer on the CPU and all of them on a device. */
  readonly segmentLayers?: number
}

type AdapterOf = (role: AnsweringRole) => AdapterParameters

export interface PolicyPrograms extends Disposable {
  readonly learner: LearningWorker
  /** Made when it is first asked for. */
  decoder(adapter: AdapterOf): Promise<Decoder>
}

export const policyPrograms = (options: PolicyProgramOptions): Promise<PolicyPrograms> => {
  const { learning, segmentLayers } = options
  const isWhole = segmentLayers !== undefined || holdsTensors(learning.device)
  return isWhole ? Promise.resolve(devicePrograms(options)) : hostPrograms(options)
}

async function hostPrograms({
  source,
  lora,
  precision,
  packsWeights,
  learning,
}: PolicyProgramOptions): Promise<PolicyPrograms> {
  const learner = await Learner.create(learning)
  const { device } = learning
  let step: Promise<OrtDecodeStep> | null = null
  const embed: DecodeStepOptions['embed'] = (ids, positions) => learner.embed(ids, positions)
  return {
    learner,
    async decoder(adapter) {
      step ??= OrtDecodeStep.create({ source, precision, lora, device, packsWeights, embed, adapter })
      return new HostDecoder(await step)
    },
    [Symbol.dispose]() {
      learner[Symbol.dispose]()
      // If it could not be made, that was reported where it was asked for.
      void step?.then(
        (created) => {
          created[Symbol.dispose]()
        },
        () => undefined,
      )
    },
  }
}

/** The frozen weights are there once, for scoring, learning and generation; rollouts read them as learning does. */
function devicePrograms({
  source,
  lora,
  learning,
  segmentLayers = source.config.layers,
}: PolicyProgramOptions): PolicyPrograms {
  const { device, seed = 0 } = learning
  const weights = new DeviceTensors(device, source)
  const adapters = new AdapterUpload(source.config, lora, device)
  const shared = { source, lora, device, weights, adapters }
  const learner = new SegmentLearner({ ...shared, seed, segmentLayers })
  let decoder: DeviceDecoder | null = null
  return {
    learner,
    decoder(adapter) {
      decoder ??= new DeviceDecoder({ ...shared, adapter })
      return Promise.resolve(decoder)
    },
    [Symbol.dispose]() {
      learner[Symbol.dispose]()
      decoder?.[Symbol.dispose]()
      adapters[Symbol.dispose]()
      weights[Symbol.dispose]()
    },
  }
}
