import { leaves } from '#shared/config/paths.ts'
import { AppError } from '#shared/errors.ts'
import { openRunFolder } from '#host/runs/runFolder.ts'
import { createHost } from '#host/createHost.ts'
import type { Store } from '#host/store/store.ts'
import { defineCommand } from '../command.ts'
import { repeatedText } from '../options.ts'
import { tableLines } from '../output.ts'

const usualMetrics = ['reward', 'eval_reward', 'kl', 'entropy', 'completions/mean_length', 'step_time']

interface Compared {
  readonly id: string
  readonly name: string | null
  readonly status: string
  readonly step: number
  /** Setting with dots between its levels → value; those that are alike in all runs left out. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly metrics: Readonly<Record<string, number | null>>
}

export const runsCompare = defineCommand({
  name: 'runs compare',
  summary: 'Compare two runs: what differs in their settings, and their last numbers',
  positionals: [
    { name: 'RUN', description: 'Run id or an unambiguous part of it' },
    { name: 'RUN', description: 'The other run' },
  ],
  options: {
    with: repeatedText('RUN', 'a further run; may be repeated'),
    metric: repeatedText('NAME', 'metric to show; may be repeated (default: reward and what goes with it)'),
  },
  async run({ options, positionals }, { dataDirectory, output }) {
    const ids = [...positionals, ...options.with].map((name) => openRunFolder(dataDirectory, name).id)
    await using host = createHost({ dataDirectory, servesQueue: false })
    const metrics = options.metric.length > 0 ? options.metric : usualMetrics
    requireMetrics(host.store, ids, options.metric)
    const runs = compare(host.store, ids, metrics)
    output.json({ runs })
    const shown = metrics.filter((metric) => runs.some((run) => run.metrics[metric] !== null))
    for (const line of tableLines(['', ...runs.map(titleOf)], rowsOf(runs, shown))) output.line(line)
  },
})

function compare(store: Store, ids: readonly string[], metrics: readonly string[]): Compared[] {
  const configs = ids.map((id) => Object.fromEntries(leaves(JSON.parse(store.runs.get(id).config))))
  const keys = [...new Set(configs.flatMap((config) => Object.keys(config)))].sort()
  const isSame = (key: string) =>
    new Set(configs.map((config) => JSON.stringify(config[key] ?? null))).size === 1
  const differing = keys.filter((key) => !isSame(key))
  return ids.map((id, i) => {
    const { name, status, step } = store.runs.get(id)
    const latest = store.metrics.latest(id)
    return {
      ...{ id, name, status, step },
      settings: Object.fromEntries(differing.map((key) => [key, configs[i]?.[key] ?? null])),
      metrics: Object.fromEntries(metrics.map((metric) => [metric, latest.get(metric)?.value ?? null])),
    }
  })
}

function requireMetrics(store: Store, ids: readonly string[], wanted: readonly string[]): void {
  const known = new Set(ids.flatMap((id) => store.metrics.names(id)))
  const missing = wanted.find((metric) => !known.has(metric))
  if (missing === undefined) return
  throw new AppError(
    'usage/invalid',
    `None of these runs has the metric ${missing}.`,
    `They have: ${[...known].sort().join(', ')}.`,
  )
}

const titleOf = ({ id, name }: Compared): string => name ?? id.slice(-8)

function rowsOf(runs: readonly Compared[], metrics: readonly string[]): string[][] {
  const settings = Object.keys(runs[0]?.settings ?? {})
  return [
    ['run', ...runs.map(({ id }) => id.slice(-8))],
    ['status', ...runs.map(({ status, step }) => `${status}, step ${step}`)],
    ...settings.map((key) => [key, ...runs.map((run) => shortly(run.settings[key]))]),
    ...metrics.map((metric) => [metric, ...runs.map((run) => formatNumber(run.metrics[metric] ?? null))]),
  ]
}

function shortly(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 40 ? `…${text.slice(-39)}` : text
}

const formatNumber = (value: number | null): string => (value === null ? '–' : value.toPrecision(4))
