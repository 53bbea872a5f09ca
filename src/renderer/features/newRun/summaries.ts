/** One-line summaries of folded steps. */
import { formatNumber, plural, lastPart } from '#renderer/client/format.ts'
import { algorithmTitle, type AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { isObject, valueAt, type JsonObject } from '#shared/config/paths.ts'
import { algorithmOf, algorithmsOf, stagesOf } from './stages.ts'

export interface Known {
  readonly models: readonly { readonly name: string; readonly directory: string }[]
  readonly dataSets: readonly {
    readonly name: string
    readonly versions: readonly {
      readonly id: string
      readonly directory: string
      readonly rows: number
      readonly columns: readonly { readonly name: string }[]
    }[]
  }[]
  readonly rewards: readonly { readonly id: string; readonly name: string }[]
  readonly algorithms: readonly AlgorithmEntry[]
}

export function modelWords(config: JsonObject, { models }: Known): string | null {
  const { model } = config
  if (typeof model !== 'string') return null
  return models.find(({ directory, name }) => directory === model || name === model)?.name ?? lastPart(model)
}

/** Model with the initial adapter. */
export function startWords(config: JsonObject, known: Known): string | null {
  const [model, initial] = [modelWords(config, known), valueAt(config, 'adapter.initial')]
  return model === null || typeof initial !== 'string' ? model : `${model} · continues ${lastPart(initial)}`
}

export function dataWords(config: JsonObject, known: Known): string | null {
  const train = valueAt(config, 'data.train')
  if (isObject(train)) return `${plural(Number(train['episodes']), 'episode')} of the environment`
  if (typeof train !== 'string') return null
  return [rowsName(train, known), heldOutWords(valueAt(config, 'data.heldOut'), known)].join(' · ')
}

function rowsName(path: string, { dataSets }: Known): string {
  const set = dataSets.find(
    ({ name, versions }) => name === path || versions.some(({ directory }) => directory === path),
  )
  const version = set?.versions.find(({ directory }) => directory === path) ?? set?.versions[0]
  if (set === undefined) return lastPart(path)
  return version === undefined ? set.name : `${set.name} · ${plural(version.rows, 'row')}`
}

function heldOutWords(heldOut: unknown, known: Known): string {
  if (typeof heldOut === 'string') return `evaluated on ${rowsName(heldOut, known)}`
  if (!isObject(heldOut)) return 'no validation split'
  if (typeof heldOut['share'] === 'number') return `${formatNumber(heldOut['share'] * 100)} % validation`
  return plural(Number(heldOut['rows']), 'validation row')
}

export function rewardWords(config: JsonObject, known: Known): string | null {
  const workflow = valueAt(config, 'rollout.workflow')
  const words = [judgeWords(config, known)]
  if (isObject(workflow)) words.push(`Workflow ${rewardName(workflow, known)}`)
  if (isObject(valueAt(config, 'rollout.agent'))) words.unshift('My agent')
  const said = words.filter((each) => each !== null)
  if (said.length > 0) return said.join(' · ')
  const chosen = algorithmsOf(config).map((id) => known.algorithms.find((each) => each.id === id))
  if (!chosen.every((each) => each?.needsRewards === false)) return null
  const acting = chosen.filter((each) => each?.experience === 'rollout')
  if (acting.length === 0) return 'Not needed: learns from given answers'
  const isTaught = acting.every((each) => each?.id === 'distillation')
  return isTaught ? 'Not needed: a teacher judges each token' : 'Not needed: the loss reads none'
}

/** Null without an environment and reward functions. */
function judgeWords({ environment, rewards }: JsonObject, known: Known): string | null {
  if (isObject(environment)) return `Environment ${rewardName(environment, known)}`
  const list = Array.isArray(rewards) ? rewards.filter(isObject) : []
  return list.length === 0 ? null : list.map((reward) => weighted(reward, known)).join(' + ')
}

function weighted(reward: JsonObject, known: Known): string {
  const { weight = 1 } = reward
  const name = rewardName(reward, known)
  return weight === 1 ? name : `${formatNumber(Number(weight))} × ${name}`
}

/** Name on charts, else in the library, else of the file. */
function rewardName({ name, function: id }: JsonObject, { rewards }: Known): string {
  if (typeof name === 'string') return name
  if (typeof id !== 'string') return 'unnamed'
  const [path = '', exported] = id.split('#')
  return (
    rewards.find((reward) => path.includes(reward.id))?.name ??
    exported ??
    lastPart(path).replace(/\.([cm]?[jt]s|py)$/, '')
  )
}

export function methodWords(config: JsonObject, known: Known, changes: string): string {
  const parts = [
    algorithmsOf(config)
      .map((id) => algorithmTitle(id, known.algorithms))
      .join(' → '),
    lengthWords(config),
  ]
  return [...parts, changes].join(' · ')
}

/** Steps of all stages; null if the length is given in passes over the rows. */
export function lengthOfSteps(config: JsonObject): number | null {
  const stages = stagesOf(config)
  const steps = stages.length === 0 ? [config['steps']] : stages.map((stage) => stage['steps'])
  return steps.every((each) => typeof each === 'number') ? steps.reduce((sum, each) => sum + each, 0) : null
}

export function lengthWords(config: JsonObject): string {
  const steps = lengthOfSteps(config)
  if (steps !== null) return plural(steps, 'step')
  const { passes = 1 } = config
  return passes === 1 ? '1 pass over the rows' : `${formatNumber(Number(passes))} passes over the rows`
}

export function batchWords(config: JsonObject, { algorithms }: Known): string {
  const algorithm = algorithms.find(({ id }) => id === algorithmOf(config))
  const prompts = Number(valueAt(config, 'rollout.promptsPerStep') ?? 8)
  if (algorithm !== undefined && algorithm.experience !== 'rollout') return plural(prompts, 'row')
  const group = Number(valueAt(config, 'rollout.groupSize') ?? algorithm?.groupSize.default ?? 8)
  return `${plural(prompts, 'prompt')} × ${plural(group, 'completion')}`
}

export const suggestedName = (config: JsonObject, known: Known): string =>
  [
    algorithmsOf(config)
      .map((id) => algorithmTitle(id, known.algorithms))
      .join('-'),
    modelWords(config, known),
    typeof valueAt(config, 'data.train') === 'string'
      ? rowsName(String(valueAt(config, 'data.train')), known).split(' · ')[0]
      : null,
  ]
    .filter(Boolean)
    .join(' · ')
