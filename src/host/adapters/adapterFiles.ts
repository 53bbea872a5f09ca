/** Finds an adapter's files and tells PEFT's form from MLX's. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { readMlxConfig } from './mlxAdapter.ts'
import { readPeftConfig, type PeftConfig } from './peftConfig.ts'

export const configName = 'adapter_config.json'
/** Folder of the policy's adapter in a checkpoint. */
export const actorName = 'actor'
export const tensorsName = 'adapter_model.safetensors'
const mlxTensorsName = 'adapters.safetensors'

export interface AdapterFiles {
  readonly directory: string
  readonly configPath: string
  readonly tensorsPath: string
  readonly isMlx: boolean
}

/** The folder of a checkpoint stands for its actor. */
export function adapterFolder(given: string): string {
  const actor = join(given, actorName)
  return !existsSync(join(given, configName)) && existsSync(join(actor, configName)) ? actor : given
}

/** Errors: AppError 'adapter/invalid' where one is missing. */
export function adapterFiles(given: string): AdapterFiles {
  const directory = adapterFolder(given)
  const configPath = join(directory, configName)
  if (!existsSync(configPath)) {
    throw adapterError(
      directory,
      `has no ${configName}, so it is not an adapter folder`,
      insideHint(directory),
    )
  }
  const tensorsPath = join(directory, tensorsName)
  if (existsSync(tensorsPath)) return { directory, configPath, tensorsPath, isMlx: false }
  const ofMlx = join(directory, mlxTensorsName)
  if (existsSync(ofMlx)) return { directory, configPath, tensorsPath: ofMlx, isMlx: true }
  const isPickled = existsSync(join(directory, 'adapter_model.bin'))
  const hint = isPickled
    ? 'Its adapter_model.bin is a pickle, which can run code when opened and is never read; save the adapter as safetensors.'
    : undefined
  throw adapterError(directory, `has no ${tensorsName}`, hint)
}

/** Errors: AppError 'adapter/invalid', naming the file. */
export function readAdapterConfig({ configPath, isMlx }: AdapterFiles): PeftConfig {
  const json = readJsonObject(configPath, 'adapter/invalid')
  return isMlx ? readMlxConfig(json, configPath) : readPeftConfig(json, configPath)
}

export const adapterError = (path: string, problem: string, hint?: string): AppError =>
  new AppError('adapter/invalid', `${path} ${problem}.`, hint)

const unknownKinds = [
  ['magnitude', 'It is a DoRA adapter; only plain LoRA is supported.'],
  ['.experts.', 'It adapts experts, which stay as they are here: train one on attention alone.'],
] as const

/** The error for a tensor that is no LoRA matrix. */
export function unknownTensor(name: string, path: string): AppError {
  const [, hint] = unknownKinds.find(([part]) => name.includes(part)) ?? []
  const problem = `holds the tensor “${shorten(name)}”, which is not a LoRA matrix of a supported layer`
  return adapterError(path, problem, hint)
}

export const wrongType = (name: string, dtype: string, path: string): AppError =>
  adapterError(path, `stores “${shorten(name)}” as ${dtype}; adapters must be F32, F16 or BF16`)

/** Trainers write their checkpoints into folders of their own: the last one is named. */
function insideHint(directory: string): string | undefined {
  const steps = namesIn(directory)
    .flatMap((name) => /^checkpoint-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .filter((step) => existsSync(join(directory, `checkpoint-${step}`, configName)))
  return steps.length === 0
    ? undefined
    : `It holds checkpoints that are adapters: give one of them, such as ${join(directory, `checkpoint-${Math.max(...steps)}`)}.`
}

const namesIn = (directory: string): string[] => attempt(() => readdirSync(directory), [])
