/** Changes that accompany other rows: held-out rows, prompt and columns of another task would measure that task. */
import { defaultSplit } from '#renderer/parts/preparation.ts'
import { valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'
import { defaultNewTokens, fittingNewTokens } from '#shared/config/settings.ts'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { followed, presetsFor, type ModelFacts } from './presets.ts'
import { algorithmOf } from './stages.ts'

interface DataSet {
  readonly versions: readonly { readonly directory: string }[]
}

/** Keeps separate held-out rows only between versions of one data set. */
export function withData(config: JsonObject, data: JsonObject, dataSets: readonly DataSet[]): JsonObject {
  const before = valueAt(config, 'data.heldOut')
  const setOf = (train: unknown) =>
    dataSets.find(({ versions }) => versions.some(({ directory }) => directory === train))
  const set = setOf(data['train'])
  const isSameSet = set !== undefined && set === setOf(valueAt(config, 'data.train'))
  return { ...config, data: isSameSet && typeof before === 'string' ? { ...data, heldOut: before } : data }
}

/** Methods that learn from nothing but such rows, by the id of their shape. */
const methodOf = new Map([
  ['preference', 'dpo'],
  ['unpaired-preference', 'kto'],
])

/** Sets the method that such rows are for, unless one was chosen or something scores the answers. */
export function withMethodFor(config: JsonObject, shapeId: string, choices: Choices): JsonObject {
  const method = methodOf.get(shapeId)
  const { algorithm, stages, rewards, environment } = config
  const isChosen = [algorithm, stages, rewards, environment].some((each) => each !== undefined)
  return method === undefined || isChosen ? config : withMethod(config, method, choices)
}

/** Sets external rows; undefined: still to be chosen. */
export function withRows(
  config: JsonObject,
  train: string | { readonly episodes: number } | undefined,
): JsonObject {
  if (train === undefined) return withValue(config, 'data', undefined)
  return { ...config, data: typeof train === 'string' ? { train, heldOut: defaultSplit } : { train } }
}

/**
 * Applies each keystroke of a typed path: settings entered for the rows stay while it is corrected, but a held-out
 * file, which belonged to the previous file, does not.
 */
export function withTypedRows(config: JsonObject, train: string): JsonObject {
  const next = withValue(config, 'data.train', train)
  const isFile = typeof valueAt(config, 'data.heldOut') === 'string'
  return isFile ? withValue(next, 'data.heldOut', defaultSplit) : next
}

// Changes that accompany a choice of another model.

interface KnownModel {
  readonly name: string
  readonly directory: string
}

interface Choices {
  readonly models: readonly KnownModel[]
  readonly algorithms: readonly AlgorithmEntry[]
}

export function modelFactsOf(config: JsonObject, models: readonly KnownModel[]): ModelFacts | null {
  const found = models.find(
    ({ name, directory }) => name === config['model'] || directory === config['model'],
  )
  return found !== undefined && 'parameters' in found ? (found as unknown as ModelFacts) : null
}

/** Names another method; its settings are its defaults. */
export const withAlgorithm = (config: JsonObject, id: string): JsonObject =>
  withValue(withValue(config, 'algorithm', undefined), 'algorithm.id', id)

/** Sets another method; settings of a preset follow to the one of the same name. */
export function withMethod(config: JsonObject, id: string, { models, algorithms }: Choices): JsonObject {
  const presetsOf = (method: string) => {
    const algorithm = algorithms.find((each) => each.id === method)
    return algorithm === undefined ? [] : presetsFor(modelFactsOf(config, models), algorithm)
  }
  return followed(withAlgorithm(config, id), presetsOf(algorithmOf(config)), presetsOf(id))
}

/** Sets another model, which needs another adapter; settings that came from a preset follow its size. */
export function withModel(config: JsonObject, model: string, { models, algorithms }: Choices): JsonObject {
  const algorithm = algorithms.find(({ id }) => id === algorithmOf(config))
  const next = startingFrom(withValue(config, 'model', model), undefined)
  const facts = modelFactsOf(next, models)
  if (algorithm === undefined) return next
  const before = presetsFor(modelFactsOf(config, models), algorithm)
  return withRoom(followed(next, before, presetsFor(facts, algorithm)), facts)
}

/** Sets the default completion length only if this model could not read that much besides a prompt. */
export function withRoom(config: JsonObject, facts: ModelFacts | null): JsonObject {
  const chosen = valueAt(config, 'rollout.maxNewTokens')
  const fitting = facts === null ? defaultNewTokens : fittingNewTokens(facts.contextLength)
  return chosen === undefined && fitting < defaultNewTokens
    ? withValue(config, 'rollout.maxNewTokens', fitting)
    : config
}

// An initial adapter or checkpoint keeps its own rank, scale and projections, unless it is to be merged.

const ownKeys = ['rank', 'alpha', 'rsLora', 'targets'] as const

/** Sets the initial adapter; undefined: a new one. */
export function startingFrom(config: JsonObject, initial: string | undefined): JsonObject {
  const started = withValue(config, 'adapter.initial', initial)
  if (initial === undefined || valueAt(config, 'adapter.mergeConfigs') === true) return started
  return ownKeys.reduce((kept, key) => withValue(kept, `adapter.${key}`, undefined), started)
}
