/** Export of a whole comparison to files. */
import { metricLabel } from '#shared/metrics.ts'
import { formatDate, formatNumber, formatReach, formatTime, plural } from '#renderer/client/format.ts'
import type { ApiClient } from '#renderer/client/api.tsx'
import { fullCsvOf } from '#renderer/charts/useSeries.ts'
import { saveText } from '#renderer/client/download.ts'
import { runNow } from '#renderer/client/runs.ts'
import {
  pictureOf,
  resolveColor,
  savePng as savePicturePng,
  saveSvg as savePictureSvg,
  sheetOf,
  svgText,
  type Picture,
} from '#renderer/charts/pictures.tsx'
import { plotOf, xExtent } from '#renderer/charts/plot.ts'
import { linesInUnit, titleWithUnit, unitOf } from '#renderer/charts/units.ts'
import { xAxisSpecs } from '#renderer/charts/axes.ts'
import { labelOf } from '#shared/config/fields.ts'
import type { Comparison } from './useComparison.ts'
import { gapsOf, type GapInWords } from './gaps.ts'
import { betterOf, seedMeans, type SeedMean } from './measures.ts'
import { settingRows, settingText, type SettingRow } from './settingDiff.ts'
import type { CompareState } from './state.ts'

/** Renders the panels as displayed, without empty ones. */
async function picturesOf(comparison: Comparison, state: CompareState): Promise<readonly Picture[]> {
  const range = state.zoom ?? xExtent(comparison.panels.flatMap((title) => comparison.lines.get(title) ?? []))
  const pictures: Picture[] = []
  for (const name of comparison.panels) {
    const unit = unitOf(name)
    const plot = plotOf(linesInUnit(comparison.lines.get(name) ?? [], unit), {
      xAxis: state.x,
      smoothing: comparison.groups === null ? comparison.smoothing : 0,
      scale: state.scale,
      zoom: range,
      events: comparison.marks,
      clipsSpikes: state.clipsSpikes,
    })
    if (plot) pictures.push(await pictureOf(plot, titleWithUnit(metricLabel(name), unit)))
  }
  return pictures
}

export const savePng = async (comparison: Comparison, state: CompareState): Promise<void> =>
  savePicturePng(sheetOf(await picturesOf(comparison, state)), 'compare.png')

export const saveSvg = async (comparison: Comparison, state: CompareState): Promise<void> =>
  savePictureSvg(sheetOf(await picturesOf(comparison, state)), 'compare.svg')

/** Saves every value of every panel's metric: one row per run and step. */
export async function saveCsv(client: ApiClient, { visible, panels }: Comparison): Promise<void> {
  const runs = visible.map(({ id, label }) => ({ id, label }))
  saveText(await fullCsvOf(client, runs, panels), 'compare.csv', 'text/csv')
}

export async function saveReport(comparison: Comparison, state: CompareState): Promise<void> {
  const { visible, panels, metric, seedGroups, tails, settings, valueOf, stepsOf, keys } = comparison
  const now = Date.now()
  const better = betterOf(metric ?? '')
  const known = visible.filter(({ id }) => settings.has(id))
  const html = reportHtml({
    title: `Comparison of ${plural(visible.length, 'run')}`,
    about: aboutOf(comparison, state),
    madeAt: `${formatDate(now)}, ${formatTime(now)}`,
    metrics: panels.map(metricLabel),
    runs: known.map(({ id, label, entry, style, isBaseline }) => ({
      id,
      label,
      isBaseline,
      algorithm: entry.algorithm,
      seed: entry.seed,
      status: entry.status,
      steps: `${String(runNow(id)?.step ?? 0)} of ${String(entry.steps ?? '?')}`,
      color: resolveColor(style.color),
      values: panels.map((name) => formatNumber(valueOf(id, name))),
    })),
    means: panels.map((name) => seedMeans(seedGroups, (runId) => valueOf(runId, name), stepsOf)),
    pictures: (await picturesOf(comparison, state)).map(svgText),
    gaps: metric === null ? [] : gapsOf({ metric, better, runs: visible, groups: seedGroups, tails }),
    settings: settingRows(known.map(({ id }) => settings.get(id) ?? new Map())).filter(({ key }) =>
      keys.includes(key),
    ),
  })
  saveText(html, 'compare.html', 'text/html')
}

function aboutOf({ smoothing }: Comparison, { x, scale, group }: CompareState): string {
  const parts = [
    `over ${xAxisSpecs[x].label}`,
    smoothing > 0 ? `smoothing ${smoothing.toFixed(2)}` : 'not smoothed',
    ...(scale === 'log' ? ['logarithmic'] : []),
    ...(group === null ? [] : [`grouped by ${labelOf(group)}`]),
  ]
  return parts.join(', ')
}

/* A comparison as one HTML file that needs nothing else: pictures, tables, words; no script. */

interface ReportRun {
  readonly label: string
  readonly id: string
  readonly status: string
  readonly algorithm: string
  readonly seed: number
  readonly steps: string
  readonly isBaseline: boolean
  readonly color: string
  /** One text per metric, in order. */
  readonly values: readonly string[]
}

export interface Report {
  readonly title: string
  /** Axis, smoothing and grouping in words. */
  readonly about: string
  readonly madeAt: string
  readonly metrics: readonly string[]
  readonly runs: readonly ReportRun[]
  /** Means over groups of runs that differ only in their seed, one list per metric in order, with the same groups each. */
  readonly means: readonly (readonly SeedMean[])[]
  readonly pictures: readonly string[]
  readonly gaps: readonly GapInWords[]
  readonly settings: readonly SettingRow[]
}

const style = `
body{font:14px/1.5 Inter,system-ui,sans-serif;color:#18181b;background:#fff;max-width:1500px;margin:32px auto;padding:0 32px}
h1{font-size:22px}h2{font-size:16px;margin-top:32px}
table{border-collapse:collapse;font-size:13px}th,td{padding:4px 12px;border-bottom:1px solid #e4e4e7;text-align:left;vertical-align:top}
td.n{text-align:right;font-variant-numeric:tabular-nums}.m{color:#52525b}.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(480px,1fr));gap:16px}
.pictures svg{width:100%;height:auto;border:1px solid #e4e4e7;border-radius:6px}.c{display:inline-block;width:10px;height:10px;border-radius:5px;margin-right:6px}
.s{overflow-x:auto}.d{font-weight:600}`

export function reportHtml(report: Report): string {
  const { title, about, madeAt, pictures, gaps } = report
  const sections = [
    `<h1>${escaped(title)}</h1><p class="m">${escaped(about)} · ${escaped(madeAt)} · made with Turnwise</p>`,
    section('Runs', runTable(report)),
    section('Curves', `<div class="pictures">${pictures.join('')}</div>`),
    gaps.length > 0 ? section('Is the gap real?', gapList(gaps)) : '',
    section('What differs', settingTable(report)),
  ]
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title><style>${style}</style></head><body>${sections.join('')}</body></html>\n`
}

const section = (title: string, content: string): string =>
  `<section><h2>${escaped(title)}</h2>${content}</section>`

const cells = (tag: 'th' | 'td', texts: readonly string[]): string =>
  texts.map((text) => `<${tag}>${escaped(text)}</${tag}>`).join('')

function runTable({ metrics, runs, means }: Report): string {
  const head = cells('th', ['Run', 'Method', 'Seed', 'Status', 'Steps', ...metrics])
  const rows = runs.map((run) => {
    const name = `<td><span class="c" style="background:${escaped(run.color)}"></span>${escaped(run.label)}${run.isBaseline ? ' <span class="m">baseline</span>' : ''}</td>`
    const facts = cells('td', [run.algorithm, String(run.seed), run.status, run.steps])
    const values = run.values.map((value) => `<td class="n">${escaped(value)}</td>`).join('')
    return `<tr>${name}${facts}${values}</tr>`
  })
  const meanRows = (means[0] ?? []).map(({ label, count, step }, i) => {
    const values = means.map((groups) => groups[i]?.mean ?? null)
    const numbers = values.map(
      (mean) => `<td class="n">${escaped(formatNumber(mean?.value) + formatReach(mean))}</td>`,
    )
    return `<tr><td colspan="5">${escaped(label)} <span class="m">mean with 95 % interval over ${plural(count, 'seed')} at step ${String(step)}</span></td>${numbers.join('')}</tr>`
  })
  return `<div class="s"><table><thead><tr>${head}</tr></thead><tbody>${[...rows, ...meanRows].join('')}</tbody></table></div>`
}

const gapList = (gaps: readonly GapInWords[]): string =>
  `<ul>${gaps.map(({ finding, ground }) => `<li>${escaped(finding)} <span class="m">${escaped(ground)}</span></li>`).join('')}</ul>`

function settingTable({ runs, settings }: Report): string {
  if (settings.length === 0) return '<p>Nothing but their names.</p>'
  const base = Math.max(
    0,
    runs.findIndex(({ isBaseline }) => isBaseline),
  )
  const rows = settings.map(({ key, values }) => {
    const own = values.map(
      (value) => `<td class="${value === values[base] ? 'm' : 'd'}">${escaped(settingText(value))}</td>`,
    )
    return `<tr><th title="${escaped(key)}">${escaped(labelOf(key))}</th>${own.join('')}</tr>`
  })
  return `<div class="s"><table><thead><tr>${cells('th', ['Setting', ...runs.map(({ label }) => label)])}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

const escaped = (words: string): string =>
  words
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
