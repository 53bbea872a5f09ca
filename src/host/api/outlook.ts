/** Predicts what a model needs and does on this machine, from its shape alone. */
import type { OutputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { activeParameters, autoDevice, parameterCount } from '#host/devices/deviceChoice.ts'
import { readThroughput } from '#host/devices/deviceRecords.ts'
import { memoryFit, type FittingPrecision } from '#host/devices/memoryFit.ts'
import { tokenRates } from '#host/models/tokenWork.ts'

export type Outlook = Extract<OutputOf<Api, 'hub.look'>['verdict'], { readonly family: string }>

export function outlookOf(config: ModelConfig, cacheDirectory: string): Outlook {
  const parameters = parameterCount(config)
  const { fits, trainingBytes } = memoryFit(config, parameters)
  const { architecture: family, contextLength } = config
  return {
    family,
    parameters,
    contextLength,
    fits,
    trainingBytes,
    activeParameters: activeParameters(config),
    speed: fits === null ? null : speedOf(config, fits, cacheDirectory),
  }
}

/**
 * Returns the speed on the device that a run with `auto` takes; null where it was not measured with matrices held in
 * this form.
 */
function speedOf(model: ModelConfig, base: FittingPrecision, cacheDirectory: string): Outlook['speed'] {
  const { kind } = autoDevice({ model, base, deviceId: 0, cacheDirectory })
  const measured = readThroughput({ kind, deviceId: 0 }, cacheDirectory)
  const rate = measured?.rates.find(({ precision }) => precision === base)
  if (measured === null || rate === undefined) return null
  return {
    ...tokenRates(model, rate),
    device: kind,
    measuredAt: measured.at,
    parameters: measured.parameters,
  }
}
