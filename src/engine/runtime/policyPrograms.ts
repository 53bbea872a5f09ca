/** Chooses how a policy computes: layer by layer, or in whole programs. */
import { totalmem } from 'node:os'
import { holdsTensors, type DeviceKind } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { halfPrecisionOf } from '../models/blocks.ts'
import { segmentsOf } from '../models/segmentPrograms.ts'
import { heldWeights } from '../models/heldTensors.ts'
import type { ModelSource } from '../models/source.ts'
import type { LoraConfig } from '../models/config.ts'
import { programProblem } from '../models/programSupport.ts'
import type { AdapterParameters, AnsweringRole } from './adapterParameters.ts'
import { requireProducts } from './device.ts'
import { DeviceDecoder, decodingDefinitions } from './deviceDecoder.ts'
import { DeviceParameters } from './deviceParameters.ts'
import { DeviceTensors, HostTensors } from './deviceTensors.ts'
import { frozenTensors, generationWeights, learningPurpose } from '../models/frozenWeights.ts'
import type { Decoder } from './generation/decoder.ts'
import { HostDecoder } from './generation/hostDecoder.ts'
import { Learner, type LearnerOptions } from './learner.ts'
import { OnDemand } from './session.ts'
import { HostParameters, type ParameterHome } from './parameterHome.ts'
import { OrtDecodeStep, packedForGeneration, type DecodeStepOptions } from './ortDecodeStep.ts'
import { CutPrograms, ResidentPrograms, SeparatePrograms } from './programs.ts'
import type { LearningWorker } from './replica.ts'
import { ResidentStep, residentDefinitions, type Repetition } from './residentStep.ts'
import { type FurtherTokens, SegmentLearner, learningDefinitions } from './segmentLearner.ts'

/**
 * - `layers`: a program for each layer, all tensors with the host.
 * - `shared`: whole programs in sessions that share the tensors of a device.
 * - `resident`: whole programs in one session, whose weights alone stay on the device.
 * - `unrolled`: the same where the provider runs no loop.
 */
export type ProgramForm = 'layers' | 'shared' | 'resident' | 'unrolled'

const forms: Readonly<Record<DeviceKind, ProgramForm>> = {
  cpu: 'layers',
  coreml: 'layers',
  webgpu: 'shared',
  cuda: 'resident',
  dml: 'unrolled',
}

export interface PolicyProgramOptions extends Pick<
  DecodeStepOptions,
  'precision' | 'packsWeights' | 'sharesPrompts'
> {
  readonly source: ModelSource
  readonly lora: LoraConfig
  readonly learning: LearnerOptions
  /** Form of the programs; that of the device if absent. Tests run those of devices on the CPU. */
  readonly form?: ProgramForm
  /** Most layers of one whole program of learning; all of them if absent. */
  readonly segmentLayers?: number
  /** Packed weights, in bytes, that generation keeps while others learn; a share of the machine's memory if absent. */
  readonly keptBytes?: number
  /** Further tokens that the policy will be asked about, where all programs are in one session. None if absent. */
  readonly further?: readonly FurtherTokens[]
  /** Largest tensor that a program binds, where a device holds tensors; what all allow if absent. */
  readonly bindingBytes?: number
}

export interface PolicyPrograms extends Disposable {
  readonly learner: LearningWorker
  /** Home of the adapters that the programs read. */
  readonly parameters: ParameterHome
  /** Returns the decoder, made on first request. */
  decoder(adapter: (role: AnsweringRole) => AdapterParameters): Promise<Decoder>
  /** Gives up what only decoders hold, where that is much of the machine's memory. None may be at work. */
  closeDecoder(): void
  /** Cuts learning into shorter programs: how many layers the longest has now; null where it cannot be cut any more. */
  shorten(): number | null
}

/** Errors: AppError 'device/unavailable' for a model or a base that the device does not compute. */
export async function policyPrograms(options: PolicyProgramOptions): Promise<PolicyPrograms> {
  const { form = forms[options.learning.device.kind] } = options
  await refuseHalves(options)
  if (form === 'layers') return layerPrograms(options)
  const problem = programProblem(options.source.config, options.learning.device.kind)
  if (problem !== null) throw new AppError('device/unavailable', problem, 'Choose the device cpu.')
  if (form === 'shared') return sharedPrograms(options)
  return residentPrograms(options, form === 'resident' ? 'loop' : 'unrolled')
}

/** Errors: AppError 'device/unavailable' where the device has no base in the 16 bits that it is held in. */
async function refuseHalves({ source, learning: { device }, form }: PolicyProgramOptions): Promise<void> {
  const precision = halfPrecisionOf(source)
  if (precision !== null && form === undefined) await requireProducts(device, precision)
}

/**
 * Share of the machine's memory up to which generation keeps its packed copy of the weights while others learn. Packing them again
 * takes as long as a few tokens of every row.
 */
const KEPT_SHARE = 1 / 32

async function layerPrograms({
  source,
  lora,
  precision,
  packsWeights,
  sharesPrompts,
  learning,
  keptBytes = KEPT_SHARE * totalmem(),
}: PolicyProgramOptions): Promise<PolicyPrograms> {
  const learner = await Learner.create(learning)
  const { device, replaysRoutes: recordsRoutes = false } = learning
  const steps = new OnDemand<OrtDecodeStep>()
  const packsMuch = packedForGeneration({ source, precision, packsWeights }) > keptBytes
  const embed: DecodeStepOptions['embed'] = (ids, positions) => learner.embed(ids, positions)
  return {
    learner,
    parameters: new HostParameters(source.config, lora),
    shorten: () => null,
    closeDecoder() {
      if (packsMuch) steps[Symbol.dispose]()
    },
    async decoder(adapter) {
      const form = { precision, packsWeights, sharesPrompts, recordsRoutes }
      const options = { source, lora, device, ...form, embed, adapter }
      return new HostDecoder(await steps.get('decoding', () => OrtDecodeStep.create(options)))
    },
    [Symbol.dispose]() {
      learner[Symbol.dispose]()
      steps[Symbol.dispose]()
    },
  }
}

/**
 * Opens programs that hold the frozen weights once, for scoring, learning and generation; rollouts read them as
 * learning does.
 */
function sharedPrograms(options: PolicyProgramOptions): PolicyPrograms {
  const { source, lora, learning } = options
  const { device } = learning
  const holding = { ...(options.bindingBytes !== undefined && { bindingBytes: options.bindingBytes }) }
  const home = holdsTensors(device)
    ? new DeviceTensors(device, source, holding)
    : new HostTensors(source, holding)
  const { tensors } = home
  const purpose = halfPrecisionOf(source) === null ? 'learn' : 'learn-widened'
  const segments = segmentsOf(source.config.layers, options.segmentLayers ?? source.config.layers)
  const { config } = source
  const decoding = decodingDefinitions(source, lora, heldWeights(source, tensors))
  const programs = new CutPrograms(segments, (cut) => {
    const learned = learningDefinitions(cut, { config, lora, tensors }, ['likeliest', 'alternatives'])
    return new SeparatePrograms({ ...learned, ...decoding }, device, { home, purpose })
  })
  const parameters = new DeviceParameters({ config, lora, device, home })
  const seed = learning.seed ?? 0
  const learner = new SegmentLearner({ source, lora, seed, segments, programs, parameters, home })
  return {
    learner,
    parameters,
    shorten: () => learner.shorten(),
    closeDecoder: () => undefined,
    decoder: (adapter) => Promise.resolve(new DeviceDecoder({ source, home, programs, parameters, adapter })),
    [Symbol.dispose]() {
      programs[Symbol.dispose]()
      parameters[Symbol.dispose]()
      home[Symbol.dispose]()
    },
  }
}

/** The same in one session: a device that gives every tensor back keeps nothing but the weights of a session. */
function residentPrograms(
  { source, lora, learning, precision, segmentLayers, further = [] }: PolicyProgramOptions,
  repetition: Repetition,
): PolicyPrograms {
  const { device } = learning
  const segments = segmentsOf(source.config.layers, segmentLayers ?? source.config.layers)
  const home = new HostTensors(source)
  const tensors = frozenTensors(source)
  // Whatever the number of rows, they are multiplied as one row is: in blocks, or with the matrix as it lies.
  const read = generationWeights(source, { rounded: precision === 'int8', isOneRow: true })
  const decoding = residentDefinitions(source, lora, read, repetition)
  const programs = new CutPrograms(segments, (cut) => {
    const learned = learningDefinitions(cut, { config: source.config, lora, tensors }, further)
    return new ResidentPrograms({ ...learned, ...decoding }, device, learningPurpose(source))
  })
  const parameters = new HostParameters(source.config, lora)
  const seed = learning.seed ?? 0
  const learner = new SegmentLearner({ source, lora, seed, segments, programs, parameters, home })
  return {
    learner,
    parameters,
    shorten: () => learner.shorten(),
    closeDecoder: () => undefined,
    decoder: (adapter) =>
      Promise.resolve(
        new HostDecoder(new ResidentStep({ source, programs, parameters, adapter, repetition })),
      ),
    [Symbol.dispose]() {
      programs[Symbol.dispose]()
    },
  }
}
