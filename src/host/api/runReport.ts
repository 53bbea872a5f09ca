/** A report of a run, or of several beside each other, as one HTML file: what the history knows, in the window's words. */
import path from 'node:path'
import { z } from 'zod'
import { device } from '#shared/api/common.ts'
import { fieldAt, labelOf, valueWords } from '#shared/config/fields.ts'
import { byPlace, isEqual, leaves } from '#shared/config/paths.ts'
import type { Diagnosis } from '#shared/diagnosis.ts'
import { formatNumber } from '#shared/formatNumber.ts'
import { findDeclaration, metricDeclarations, metricLabel } from '#shared/metrics.ts'
import { plural } from '#shared/plural.ts'
import { gapsOf, tailStart } from '#shared/runGaps.ts'
import type { RunRecord } from '#shared/runs.ts'
import type { Estimate } from '#shared/statistics.ts'
import { appVersion } from '#host/dataDirectory.ts'
import { compareRuns } from '#host/runs/compareRuns.ts'
import { diagnoseRun } from '#host/runs/runDiagnosis.ts'
import type { SampleRecord } from '#host/store/samples.ts'
import type { Store } from '#host/store/store.ts'
import { chart, list, markup, page, section, table, text, type Html } from './reportPage.ts'

type Comparison = ReturnType<typeof compareRuns>

/** Most samples of each run, and characters of a text. */
const shownSamples = 3
const longestText = 2000

/**
 * Returns the file. The first run is the baseline. `wanted` empty: the metrics that a comparison shows first. Errors:
 * AppError 'run/not-found', 'usage/invalid' for a metric that no run has.
 */
export function runReport(store: Store, ids: readonly string[], wanted: readonly string[]): string {
  const runs = ids.map((id) => store.runs.get(id))
  const metrics = wanted.length > 0 ? wanted : comparedMetrics(store, ids)
  const comparison = compareRuns(store, ids, metrics)
  const [first] = runs
  const title =
    runs.length === 1 && first !== undefined ? titleOf(first) : `Comparison of ${plural(ids.length, 'run')}`
  return page(title, `Turnwise ${appVersion()}, ${new Date().toISOString().slice(0, 10)}`, [
    section('Runs', [runTable(runs, comparison, metrics)]),
    section('Is the gap real?', gapList(store, runs, comparison, metrics)),
    section(
      'Curves',
      metrics.map((metric) => curve(store, runs, metric)),
    ),
    section(runs.length === 1 ? 'Settings' : 'What differs', [settingTable(runs, comparison)]),
    section(
      'Diagnosis',
      runs.flatMap((run) => diagnosisOf(store, run)),
    ),
    section('Samples', samplesOf(store, runs)),
    section('Machine and versions', [machineTable(store, runs)]),
  ])
}

const titleOf = ({ id, name }: Pick<RunRecord, 'id' | 'name'>): string => name ?? id.slice(-8)

function comparedMetrics(store: Store, ids: readonly string[]): readonly string[] {
  const known = new Set(ids.flatMap((id) => store.metrics.names(id)))
  const compared = [...metricDeclarations].filter(([, { chart: shown }]) => shown?.compared === true)
  const names = compared.map(([name]) => name).filter((name) => known.has(name))
  return names.length > 0 ? names : [...known].slice(0, 1)
}

/** Formats a value with its unit, where a number alone would leave it open. */
function metricTitle(metric: string): string {
  const unit = findDeclaration(metric)?.unit ?? 'number'
  return `${metricLabel(metric)}${['nats', 'seconds', 'tokens/s'].includes(unit) ? ` (${unit})` : ''}`
}

const estimateText = (mean: Estimate | null | undefined): string => {
  const reach = mean?.interval == null ? '' : ` ± ${formatNumber(mean.interval.high - mean.value, 2)}`
  return `${formatNumber(mean?.value)}${reach}`
}

/** A column for each run, then one for each family of seeds. */
function runTable(
  runs: readonly RunRecord[],
  { runs: compared, families }: Comparison,
  metrics: readonly string[],
): Html {
  const facts: readonly (readonly [string, (run: RunRecord) => string])[] = [
    ['Id', ({ id }) => id],
    ['Status', ({ status }) => status],
    ['Method', ({ algorithmTitle }) => algorithmTitle],
    ['Model', ({ model }) => path.basename(model)],
    ['Seed', ({ seed }) => String(seed)],
    ['Step', ({ step, steps }) => `${step} of ${steps ?? '?'}`],
    [
      'Eval reward before → after',
      (run) => [run.rewardBefore, run.rewardAfter].map((each) => formatNumber(each)).join(' → '),
    ],
  ]
  const means = families.map(
    ({ name, count, step }) =>
      `${name}: mean with 95 % interval over ${plural(count, 'seed')} at step ${step}`,
  )
  const head = [...runs.map((run, i) => markup`<i class="c${i % 8}"></i>${titleOf(run)}`), ...means]
  return table(
    ['', ...head],
    [
      ...facts.map(([name, factOf]) => [name, ...runs.map(factOf), ...means.map(() => '')]),
      ...metrics.map((metric) => [
        metricTitle(metric),
        ...compared.map((run) => formatNumber(run.metrics[metric])),
        ...families.map((family) => estimateText(family.metrics[metric])),
      ]),
    ],
  )
}

/** The window's comparison with the baseline, of the first metric. */
function gapList(
  store: Store,
  runs: readonly RunRecord[],
  of: Comparison,
  metrics: readonly string[],
): Html[] {
  const [metric] = metrics
  if (metric === undefined || runs.length < 2) return []
  const grouped = new Set(of.families.flatMap(({ runIds }) => runIds))
  const groups = [
    ...of.families.map(({ name, runIds }) => ({
      id: runIds.join(),
      label: `${name} · ${runIds.length} seeds`,
      runIds,
    })),
    ...runs.flatMap((run) =>
      grouped.has(run.id) ? [] : [{ id: run.id, label: titleOf(run), runIds: [run.id] }],
    ),
  ]
  const tailOf = ({ id, step }: RunRecord) =>
    store.metrics
      .series({ runIds: [id], metric, fromStep: tailStart(step), maxPoints: 5000 })
      .runs.flatMap(({ points }) => points.map(({ mean }) => mean))
  const gaps = gapsOf({
    metric,
    better: findDeclaration(metric)?.better ?? 'none',
    groups,
    runs: of.runs.map((run, i) => ({
      id: run.id,
      label: titleOf(run),
      isBaseline: i === 0,
      value: run.metrics[metric] ?? null,
    })),
    tails: new Map(runs.map((run) => [run.id, tailOf(run)])),
  })
  return gaps.length === 0
    ? []
    : [list(gaps.map(({ finding, ground }) => markup`${finding} <small>${ground}</small>`))]
}

function curve(store: Store, runs: readonly RunRecord[], metric: string): Html {
  const { runs: series } = store.metrics.series({ runIds: runs.map(({ id }) => id), metric, maxPoints: 300 })
  const lines = series.map(({ runId, points, gaps }) => ({
    index: runs.findIndex(({ id }) => id === runId),
    points: points.map(({ lastStep, mean }) => ({ x: lastStep, y: mean })),
    gaps,
  }))
  return chart(metricTitle(metric), lines)
}

function settingTable(runs: readonly RunRecord[], { runs: compared }: Comparison): Html {
  const [only] = runs
  if (runs.length === 1 && only !== undefined) {
    const all = [...leaves(JSON.parse(only.config), byPlace)]
    const given = new Set(all.filter(([key, value]) => !isEqual(value, fieldAt(key)?.default)))
    const tableOf = (settings: typeof all) =>
      table(
        ['Setting', 'Value'],
        settings.map(([key, value]) => [settingName(key), settingText(value)]),
      )
    const others = all.filter((each) => !given.has(each))
    return markup`${tableOf([...given])}<details><summary>${plural(others.length, 'setting')} at their defaults</summary>${tableOf(others)}</details>`
  }
  const keys = Object.keys(compared[0]?.settings ?? {}).filter((key) => key !== 'name')
  if (keys.length === 0) return markup`<p>Nothing but their names.</p>`
  const rows = keys.map((key) => ({ key, texts: compared.map(({ settings }) => settingText(settings[key])) }))
  return table(
    ['Setting', ...runs.map(titleOf)],
    // Left out in one and empty in another: the same in words.
    rows.flatMap(({ key, texts }) => (new Set(texts).size < 2 ? [] : [[settingName(key), ...texts]])),
  )
}

const settingName = (key: string): Html => markup`<span title="${key}">${labelOf(key)}</span>`

const settingText = (value: unknown): string => cut(valueWords(value), 300)

function diagnosisOf(store: Store, run: RunRecord): Html[] {
  const { findings, steps }: Diagnosis = diagnoseRun(store, run.id)
  const words = findings.map(({ severity, words: finding, proposals }) => {
    return markup`<b>${severity}</b> ${finding} <small>${proposals.map((each) => each.words).join(' ')}</small>`
  })
  const healthy = steps === 0 ? 'No step has finished yet.' : 'Nothing looks wrong.'
  return [markup`<h3>${titleOf(run)}</h3>`, words.length === 0 ? markup`<p>${healthy}</p>` : list(words)]
}

/** Each prompt with the completions of all runs beside each other; below each other where they share no prompts. */
function samplesOf(store: Store, runs: readonly RunRecord[]): Html[] {
  const kept = runs.map((run) => keptSamples(store, run))
  const [first] = kept
  const ofPrompt = (prompt: string) =>
    kept.map((each) => each?.samples.find((sample) => sample.prompt === prompt))
  const shared = (first?.samples ?? []).filter(({ prompt }) => ofPrompt(prompt).every(Boolean))
  if (runs.length > 1 && shared.length > 0)
    return [
      table(
        ['Prompt', ...kept.map((each) => each?.title ?? '')],
        shared
          .slice(0, shownSamples)
          .map(({ prompt }) => [
            text(cut(prompt, longestText)),
            ...ofPrompt(prompt).map((each) => (each === undefined ? '' : answerOf(each))),
          ]),
      ),
    ]
  return kept.flatMap((each) =>
    each === null
      ? []
      : [markup`<h3>${each.title}</h3>`, ...each.samples.slice(0, shownSamples).map(sampleOf)],
  )
}

/** The first sample of each prompt of the last step that kept completions, on validation rows if there are any. */
function keptSamples(store: Store, run: RunRecord) {
  const steps = store.samples.steps(run.id)
  const source = steps.some((each) => each.source === 'evaluation') ? 'evaluation' : 'rollout'
  const step = steps.findLast((each) => each.source === source)?.step
  if (step === undefined) return null
  const samples = store.samples.list({ runId: run.id, step, source, limit: 50 })
  const firsts = [...new Map(samples.toReversed().map((sample) => [sample.row, sample])).values()].reverse()
  return { title: `${titleOf(run)}, step ${step}`, samples: firsts }
}

const answerOf = ({ completion, reward }: SampleRecord): Html =>
  markup`${text(cut(completion, longestText))}<small>Reward ${formatNumber(reward)}</small>`

const sampleOf = (sample: SampleRecord): Html =>
  markup`<figure>${text(cut(sample.prompt, longestText))}${answerOf(sample)}</figure>`

const cut = (words: string, longest: number): string =>
  words.length <= longest ? words : `${words.slice(0, longest)}… (${words.length - longest} more characters)`

function machineTable(store: Store, runs: readonly RunRecord[]): Html {
  return table(
    ['Run', 'Device', 'Trained with', 'Model', 'Data'],
    runs.map((run) => [titleOf(run), deviceOf(store, run), ...manifestOf(run)]),
  )
}

const deviceEvent = z.object({ device, reason: z.string() })

function deviceOf(store: Store, { id }: RunRecord): string {
  const known = deviceEvent.safeParse(store.events.last(id, 'device'))
  if (!known.success) return '–'
  const { device: used, reason } = known.data
  return `${used.kind}, ${plural(used.threads, 'thread')}. ${reason}`
}

function manifestOf({ manifest }: RunRecord): string[] {
  if (manifest === null) return ['–', '–', '–']
  const data = Object.entries(manifest.data).map(
    ([name, digest]) => `${path.basename(name)} ${digest.slice(0, 12)}`,
  )
  return [manifest.app, manifest.model.slice(0, 12), data.join(', ')]
}
