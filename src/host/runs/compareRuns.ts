/** Compares runs: their settings, their last metrics, and means of those that differ in their seed alone. */
import type { Api } from '#shared/api/api.ts'
import { historyWords } from '#shared/config/changes.ts'
import { leaves } from '#shared/config/paths.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { usageError } from '#shared/errors.ts'
import type { RunRecord } from '#shared/runs.ts'
import { configButSeed, seedFamilies } from '#shared/seedFamilies.ts'
import { meanEstimate } from '#shared/statistics.ts'
import type { Store } from '#host/store/store.ts'

type Comparison = OutputOf<Api, 'runs.compare'>

const defaultMetrics = ['reward', 'eval_reward', 'kl', 'entropy', 'completions/mean_length', 'step_time']

/** `wanted` empty: reward and related metrics. Errors: AppError 'usage/invalid' for a metric that no run has. */
export function compareRuns(store: Store, ids: readonly string[], wanted: readonly string[]): Comparison {
  requireMetrics(store, ids, wanted)
  const metrics = wanted.length > 0 ? wanted : defaultMetrics
  const runs = comparisonOf(store, ids, metrics)
  return { runs, families: familiesOf(store, runs, metrics) }
}

function comparisonOf(store: Store, ids: readonly string[], metrics: readonly string[]): Comparison['runs'] {
  const configs = ids.map((id) => settingsIn(store.runs.get(id)))
  const keys = [...new Set(configs.flatMap((config) => Object.keys(config)))].sort()
  const isSame = (key: string) =>
    new Set(configs.map((config) => JSON.stringify(config[key] ?? null))).size === 1
  const differing = keys.filter((key) => !isSame(key))
  return ids.map((id, i) => {
    const { name, status, step } = store.runs.get(id)
    const latest = store.metrics.latest(id)
    return {
      id,
      name,
      status,
      step,
      settings: Object.fromEntries(differing.map((key) => [key, configs[i]?.[key] ?? null])),
      metrics: Object.fromEntries(metrics.map((metric) => [metric, latest.get(metric)?.value ?? null])),
    }
  })
}

/** Flattens settings; a changed one lists all values, each with the step after which it applied. */
function settingsIn({ config, settingChanges }: RunRecord): Readonly<Record<string, unknown>> {
  const settings = Object.fromEntries(leaves(JSON.parse(config)))
  const changed = Map.groupBy(settingChanges, ({ key }) => key)
  return { ...settings, ...Object.fromEntries([...changed].map(([key, own]) => [key, historyWords(own)])) }
}

function familiesOf(
  store: Store,
  runs: Comparison['runs'],
  metrics: readonly string[],
): Comparison['families'] {
  const entries = runs.map(({ id }) => store.runs.get(id))
  return seedFamilies(entries, configButSeed).map(({ name, runIds, count, step }) => {
    const members = runs.filter((run) => runIds.includes(run.id) && run.step === step)
    const meanOf = (metric: string) => meanEstimate(members.flatMap((run) => run.metrics[metric] ?? []))
    return {
      name,
      runIds,
      count,
      step,
      metrics: Object.fromEntries(metrics.map((metric) => [metric, meanOf(metric)])),
    }
  })
}

function requireMetrics(store: Store, ids: readonly string[], wanted: readonly string[]): void {
  const known = new Set(ids.flatMap((id) => store.metrics.names(id)))
  const missing = wanted.find((metric) => !known.has(metric))
  if (missing === undefined) return
  throw usageError(
    `None of these runs has the metric ${missing}.`,
    `They have: ${[...known].sort().join(', ')}.`,
  )
}
