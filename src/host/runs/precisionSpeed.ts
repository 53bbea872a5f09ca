/** Compares the speed of a base in fewer bits on this machine with an exact one's: measured once for each device, and kept. */
import { unwise } from '#shared/config/problems.ts'
import type { DeviceKind } from '#shared/device.ts'
import type { Problem } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { parameterCount } from '#host/devices/deviceChoice.ts'
import { readThroughput } from '#host/devices/deviceRecords.ts'
import { fittingPrecisions, memoryFit, type FittingPrecision } from '#host/devices/memoryFit.ts'
import { tokenRates } from '#host/models/tokenWork.ts'

export interface PrecisionAsked {
  readonly config: RunConfig
  readonly model: ModelConfig
  readonly kind: DeviceKind
  readonly cacheDirectory: string
}

/** The form of the base where it is in fewer bits than an exact one and was asked for; else null. */
export const roundedBase = ({ base }: Pick<RunConfig, 'base'>): FittingPrecision | null =>
  fittingPrecisions.find((each) => each !== 'f32' && each === base.precision) ?? null

/**
 * Returns how many times as long a token takes, generated and learned from, as with an exact base; null for an exact
 * base and where this machine was not measured.
 */
function slowdown({ config, model, kind, cacheDirectory }: PrecisionAsked): number | null {
  const base = roundedBase(config)
  const place = { kind, deviceId: config.device.deviceId }
  const rates = base === null ? [] : (readThroughput(place, cacheDirectory)?.rates ?? [])
  const [own, exact] = [base, 'f32'].map((wanted) => {
    const rate = rates.find(({ precision }) => precision === wanted)
    if (rate === undefined) return undefined
    const { generating, learning } = tokenRates(model, rate)
    return 1 / generating + 1 / learning
  })
  return own === undefined || exact === undefined ? null : own / exact
}

/** Below this, a measurement of one round tells nothing. */
const telling = 1.1

/** Warns of a base in fewer bits that costs time and saves memory that is not short. */
export function precisionWarnings(asked: PrecisionAsked): Problem[] {
  const base = roundedBase(asked.config)
  const times = slowdown(asked)
  if (base === null || times === null || times < telling) return []
  if (memoryFit(asked.model, parameterCount(asked.model)).fits !== 'f32') return []
  return [
    unwise(
      'base.precision',
      `On this machine a step with a base in ${base} takes about ${times.toFixed(1)} times as long as with an exact one, as measured here. It saves memory, which this model is not short of: f32 is exact and faster.`,
    ),
  ]
}
