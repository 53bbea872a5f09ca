/** Requirements and speed of a model on this machine, in words. */
import type { Answer } from '#renderer/client/api.tsx'
import { fitWords } from '#renderer/client/modelChoice.ts'
import { formatBytes, formatDate, formatNumber, formatShort } from '#renderer/client/format.ts'
import { deviceTitles } from '#shared/device.ts'

type Known = Answer<'hub.known'>[number]
export type Speed = NonNullable<Known['speed']>

/** Formats “1.3 B, 0.4 B of them for each token”, where a model has experts. */
export const parameterWords = ({
  parameters,
  activeParameters,
}: Pick<Known, 'parameters' | 'activeParameters'>): string =>
  activeParameters === parameters
    ? formatShort(parameters)
    : `${formatShort(parameters)}, ${formatShort(activeParameters)} of them for each token`

/** Formats “2.5 GB, fits in f32”. */
export const memoryWords = ({ fits, trainingBytes }: Pick<Known, 'fits' | 'trainingBytes'>): string =>
  fits === null
    ? `${fitWords(fits)}: ${formatBytes(trainingBytes)} even in 4 bits`
    : `${formatBytes(trainingBytes)}, ${fitWords(fits)}`

/** Formats “12 tokens/s generating, 31 learning”. */
export const speedWords = ({ generating, learning }: Speed): string =>
  `${formatNumber(generating, 2)} tokens/s generating, ${formatNumber(learning, 2)} learning`

export const measuredWords = ({ device, measuredAt, parameters }: Speed): string =>
  `Speeds are estimated for the ${deviceTitles[device]}, from a model of ${formatShort(parameters)} parameters measured on this machine on ${formatDate(measuredAt)}.`
