/**
 * Continues an adapter under another LoRA config, as AgileRL 2.7.0 did with `merge_lora_configs`: the larger rank, the
 * targets of both, and the current value of every other setting. The adapter's matrices go into the corner of fresh
 * ones. A fresh B is zero, so B·A is unchanged; the scale alpha / rank comes from the merged config, so its effect may
 * change.
 */
import { shorten } from '#shared/plural.ts'
import { linearNames, loraScale, type LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { isJsonObject } from '#host/files/strictJson.ts'

/** The fields of an `adapter_config.json`, by its own names. */
export type PeftFields = Readonly<Record<string, unknown>>

const rankKey = 'r'
const unitedKeys: readonly string[] = ['target_modules', 'modules_to_save']
/** Field that says how an adapter is used, and nothing about its tensors. */
const ignoredKey = 'inference_mode'

/** Returns true if both have the same fields with the same values; order within lists does not count. */
export function samePeftFields(a: PeftFields, b: PeftFields): boolean {
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return keys.every((key) => key === ignoredKey || canonical(a[key]) === canonical(b[key]))
}

/** Returns equal text for equal values: lists as sorted sets, objects by sorted keys, absent as null. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${[...new Set(value.map(canonical))].sort().join()}]`
  if (!isJsonObject(value)) return JSON.stringify(value ?? null)
  const keys = Object.keys(value).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join()}}`
}

export interface MergedFields {
  readonly merged: PeftFields
  /** Fields in which the adapter's config was not followed, or the current one was changed. */
  readonly changed: readonly string[]
}

/** Merges the fields of both; without a current config, takes the adapter's. */
export function mergePeftFields(current: PeftFields | null, adapter: PeftFields): MergedFields {
  if (current === null) return { merged: adapter, changed: [] }
  const keys = [...new Set([...Object.keys(current), ...Object.keys(adapter)])]
  const isDifferent = (key: string) => canonical(current[key]) !== canonical(adapter[key])
  return {
    merged: Object.fromEntries(keys.map((key) => [key, mergeField(key, current[key], adapter[key])])),
    changed: keys.filter((key) => key !== ignoredKey && isDifferent(key)),
  }
}

function mergeField(key: string, current: unknown, adapter: unknown): unknown {
  if (key === rankKey) return Math.max(Number(current ?? 0), Number(adapter ?? 0))
  if (!unitedKeys.includes(key) || isNothing(current) || isNothing(adapter)) return current ?? null
  return [...new Set([...asNames(current), ...asNames(adapter)])].sort()
}

const isNothing = (value: unknown): boolean => value === null || value === undefined

/** A plain text, such as "all-linear", counts as a list of one. */
const asNames = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value])

export interface MergedLora {
  readonly lora: LoraConfig
  /** Differences from the adapter's own config, one sentence each. */
  readonly warnings: readonly string[]
}

/** The config under which a run with `current` settings goes on with an adapter. */
export function mergeLora(current: LoraConfig, adapter: LoraConfig): MergedLora {
  const { merged, changed } = mergePeftFields(fieldsOf(current), fieldsOf(adapter))
  const targets = asNames(merged['target_modules'])
  const lora: LoraConfig = {
    rank: Number(merged['r']),
    alpha: current.alpha,
    rsLora: current.rsLora,
    targets: linearNames.filter((name) => targets.includes(name)),
  }
  return { lora, warnings: [...mergeWarnings(lora, adapter, changed)] }
}

const fieldsOf = ({ rank, alpha, rsLora, targets }: LoraConfig): PeftFields => ({
  r: rank,
  lora_alpha: alpha,
  use_rslora: rsLora,
  target_modules: targets,
})

function* mergeWarnings(
  lora: LoraConfig,
  adapter: LoraConfig,
  changed: readonly string[],
): Generator<string> {
  if (changed.length === 0) return
  const fields = fieldsOf(lora)
  const settings = changed.map((key) => `${key} ${shorten(JSON.stringify(fields[key]))}`)
  yield `The initial adapter continues under a merged config: ${settings.join(', ')}.`
  const change = loraScale(lora) / loraScale(adapter)
  if (Math.abs(change - 1) < 1e-9) return
  yield `With alpha ${lora.alpha} and rank ${lora.rank} the initial adapter acts ${Number(change.toPrecision(3))} times as strongly as before; choose adapter.alpha so that the scale stays ${Number(loraScale(adapter).toPrecision(3))} to avoid that.`
}

/**
 * Puts each matrix of `adapter` into the top left corner of the fresh one of its name; fresh ones without a partner
 * stay.
 */
export function padAdapter(fresh: readonly NamedTensor[], adapter: readonly NamedTensor[]): NamedTensor[] {
  const given = new Map(adapter.map((tensor) => [tensor.name, tensor]))
  return fresh.map((tensor) => {
    const smaller = given.get(tensor.name)
    return smaller === undefined ? tensor : padMatrix(tensor, smaller)
  })
}

/**
 * Pads a matrix with the fresh one; one that is larger in any direction is returned as it is, and loading it reports
 * that it does not fit.
 */
export function padMatrix(fresh: NamedTensor, smaller: NamedTensor): NamedTensor {
  const [rows = 0, columns = 0] = smaller.shape
  const [freshRows = 0, freshColumns = 0] = fresh.shape
  if (rows > freshRows || columns > freshColumns) return smaller
  const data = fresh.data.slice()
  for (let row = 0; row < rows; row++) {
    data.set(smaller.data.subarray(row * columns, (row + 1) * columns), row * freshColumns)
  }
  return { ...fresh, data }
}
