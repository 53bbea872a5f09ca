/** How settings change from one generation to the next. */
import type { SequentialRandom } from '#shared/random.ts'

export interface MutationRange {
  readonly minimum: number
  readonly maximum: number
  readonly shrinkFactor: number
  readonly growFactor: number
  /** A whole number stays one: what is behind the point is dropped. */
  readonly integer: boolean
}

export const defaultFactors = { shrinkFactor: 0.8, growFactor: 1.2 } as const

/** The value made smaller (`uniform` < 0.5) or larger, within its range. uniform: from 0 to 1. */
export function mutateSetting(value: number, range: MutationRange, uniform: number): number {
  const moved = value * (uniform < 0.5 ? range.shrinkFactor : range.growFactor)
  const within = Math.min(Math.max(moved, range.minimum), range.maximum)
  return range.integer ? Math.trunc(within) : within
}

/** One of the settings that have a range, changed; the others as they are. */
export function mutateOne(
  settings: Readonly<Record<string, number>>,
  ranges: Readonly<Record<string, MutationRange>>,
  random: Pick<SequentialRandom, 'integer' | 'uniform'>,
): Record<string, number> {
  const names = Object.keys(ranges).filter((name) => settings[name] !== undefined)
  const name = names[random.integer(Math.max(names.length, 1))]
  if (name === undefined) return { ...settings }
  return { ...settings, [name]: mutateSetting(settings[name]!, ranges[name]!, random.uniform()) }
}
