/** Says which models the whole programs of devices compute. */
import { deviceTitles, type DeviceKind } from '#shared/device.ts'
import { attendsLinearly, type LayerMixer, type ModelConfig } from './config.ts'

/** Parts of a model that the whole programs of devices do not compute yet; null: they compute all of it. */
export function onlyOnCpu(config: Pick<ModelConfig, 'mixers' | 'layerChannels' | 'experts'>): string | null {
  if (config.experts !== null) return 'a mixture of experts'
  if (attendsLinearly(config)) return 'linear attention'
  if (config.layerChannels > 0) return 'embeddings for each layer'
  const isOwn = (mixer: LayerMixer) =>
    mixer.kind !== 'attention' ||
    (mixer.keysOf ?? mixer.kvHeads ?? mixer.headDim ?? mixer.valuesAreKeys) === undefined
  return config.mixers.every(isOwn) ? null : 'attention heads that differ between layers'
}

/** Reason why the whole programs of a kind of device do not compute a model, as a sentence; null: they do. */
export function programProblem(config: Parameters<typeof onlyOnCpu>[0], kind: DeviceKind): string | null {
  const feature = onlyOnCpu(config)
  return feature === null ? null : `Models with ${feature} are not computed on ${deviceTitles[kind]} yet.`
}
