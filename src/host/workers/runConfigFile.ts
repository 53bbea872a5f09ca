/** A run config from a file: checked, its paths made absolute. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { builtInReward } from '#rl/environments/registry.ts'
import { findModel } from '../artifacts/modelLibrary.ts'
import { readJsonObject } from '../artifacts/strictJson.ts'

/** Paths in the file are relative to it; `model` may also be the name of a model. Errors: AppError 'config/invalid'. */
export function readRunConfig(file: string, dataDirectory: string): RunConfig {
  const config = parseRunConfig(readJsonObject(file, 'config/invalid'))
  requireKnownParts(config)
  const absolute = (given: string) => path.resolve(path.dirname(file), given)
  const { adapter, data } = config
  return {
    ...config,
    model: existsSync(absolute(config.model))
      ? absolute(config.model)
      : findModel(config.model, dataDirectory),
    adapter: { ...adapter, initial: adapter.initial === null ? null : absolute(adapter.initial) },
    data: {
      ...data,
      train: absolute(data.train),
      heldOut: data.heldOut === null ? null : absolute(data.heldOut),
    },
  }
}

/** Algorithm and rewards are there and take their settings: better told now than after a model was prepared. */
export function requireKnownParts({ algorithm, rewards }: RunConfig): void {
  algorithmById(algorithm.id).configure(algorithm.settings)
  for (const reward of rewards) builtInReward(reward.function, reward.settings)
}
