/**
 * Decides the settings of a run that continues an adapter: those that the adapter determines, and those written out
 * beside it.
 */
import { existsSync } from 'node:fs'
import { conflict } from '#shared/config/problems.ts'
import { valueAt } from '#shared/config/paths.ts'
import { adapterSection } from '#shared/config/sections.ts'
import { ConfigError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import { readAdapter } from './peft.ts'

export const loraKeys = ['rank', 'alpha', 'rsLora', 'targets'] as const
type LoraKey = (typeof loraKeys)[number]

/** Settings that are numbers or flags. Modules are no part of them: what “all-linear” means depends on the model. */
const numberKeys = ['rank', 'alpha', 'rsLora'] as const
const numbersOf = ({ rank, alpha, rsLora }: Pick<LoraConfig, (typeof numberKeys)[number]>) => ({
  rank,
  alpha,
  rsLora,
})

/**
 * Returns the config with the rank and the scale of the adapter that it continues. Only the config as it was given
 * tells which settings were written out: a default that stands there is refused where the adapter has another value.
 * Errors: ConfigError; those of reading the adapter.
 */
export function withContinuedAdapter(given: unknown, config: RunConfig): RunConfig {
  const { initial, mergeConfigs } = config.adapter
  // A missing adapter is reported when the model is opened.
  if (initial === null || mergeConfigs || !existsSync(initial)) return config
  const shape = readAdapter(initial).config
  const written = numberKeys.filter((key) => valueAt(given, `adapter.${key}`) !== undefined)
  requireSame(written, { ...shape, ...numbersOf(config.adapter) }, shape)
  const { data } = adapterSection.safeParse({ ...config.adapter, ...numbersOf(shape) })
  return data === undefined ? config : { ...config, adapter: data }
}

/** Errors: ConfigError with each of the settings that the adapter contradicts. */
export function requireSame(keys: readonly LoraKey[], own: LoraConfig, adapter: LoraConfig): void {
  const words = (lora: LoraConfig, key: LoraKey) =>
    key === 'targets' ? lora.targets.join(', ') : String(lora[key])
  const differing = keys.filter((key) => words(own, key) !== words(adapter, key))
  if (differing.length === 0) return
  const sides = differing.map((key) =>
    conflict(
      `adapter.${key}`,
      `${words(own, key)}, but the adapter of \`adapter.initial\` has ${words(adapter, key)}.`,
    ),
  )
  throw new ConfigError(
    sides,
    'Omit those settings to continue the adapter as it is, or set adapter.mergeConfigs to true to extend it to the larger rank and the targets of both.',
  )
}
