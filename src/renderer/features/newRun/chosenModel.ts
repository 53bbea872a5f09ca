/** What goes along when another model is chosen for a run. */
import { usualNewTokens, fittingNewTokens } from '#shared/usualLength.ts'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'
import { followed, presetsFor, type ModelFacts } from './presets.ts'
import { algorithmOf } from './stages.ts'
import { startingFrom } from './startAdapter.ts'

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

/** Another model needs another adapter; settings that came from a preset go along with its size. */
export function withModel(config: JsonObject, model: string, { models, algorithms }: Choices): JsonObject {
  const algorithm = algorithms.find(({ id }) => id === algorithmOf(config))
  const next = startingFrom(withValue(config, 'model', model), undefined)
  const facts = modelFactsOf(next, models)
  if (algorithm === undefined) return next
  const before = presetsFor(modelFactsOf(config, models), algorithm)
  return withRoom(followed(next, before, presetsFor(facts, algorithm)), facts)
}

/** The usual length of a completion is set only where this model could not read that much besides a prompt. */
export function withRoom(config: JsonObject, facts: ModelFacts | null): JsonObject {
  const chosen = valueAt(config, 'rollout.maxNewTokens')
  const fitting = facts === null ? usualNewTokens : fittingNewTokens(facts.contextLength)
  return chosen === undefined && fitting < usualNewTokens
    ? withValue(config, 'rollout.maxNewTokens', fitting)
    : config
}
