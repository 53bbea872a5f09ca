/** A whole comparison as files. */
import { metricLabel } from '#shared/metrics.ts'
import { formatDate, formatNumber, formatTime, plural } from '#renderer/client/format.ts'
import type { ApiClient } from '#renderer/client/api.tsx'
import type { Comparison } from './useComparison.ts'
import { fullCsvOf } from '#renderer/charts/useSeries.ts'
import { fileSize, pngSheet, saveBlob, saveText } from '#renderer/charts/exportChart.ts'
import { sceneOf, xExtent, type Scene } from '#renderer/charts/scene.ts'
import { sceneSvg, svgSheet } from '#renderer/charts/sceneSvg.ts'
import { resolveColor } from '#renderer/charts/themeColors.ts'
import { linesInUnit, titleWithUnit, unitOf } from '#renderer/charts/units.ts'
import { xAxisSpecs } from '#renderer/charts/xAxes.ts'
import { labelOf } from '#renderer/features/newRun/fieldWords.ts'
import { gapsOf } from './gaps.ts'
import { betterOf } from './measures.ts'
import { reportHtml } from './report.ts'
import { settingRows } from './settingDiff.ts'
import type { CompareState } from './state.ts'

/** The panels as they are looked at; those with nothing in them are left out. */
function picturesOf(
  comparison: Comparison,
  state: CompareState,
): readonly { readonly title: string; readonly scene: Scene }[] {
  const range = state.zoom ?? xExtent(comparison.panels.flatMap((title) => comparison.lines.get(title) ?? []))
  return comparison.panels.flatMap((name) => {
    const unit = unitOf(name)
    const scene = sceneOf(linesInUnit(comparison.lines.get(name) ?? [], unit), {
      xAxis: state.x,
      smoothing: comparison.groups === null ? comparison.smoothing : 0,
      scale: state.scale,
      zoom: range,
      events: comparison.marks,
      clipsSpikes: state.clipsSpikes,
    })
    return scene ? [{ title: titleWithUnit(metricLabel(name), unit), scene }] : []
  })
}

export async function savePng(comparison: Comparison, state: CompareState): Promise<void> {
  saveBlob(await pngSheet(picturesOf(comparison, state), resolveColor), 'compare.png')
}

export function saveSvg(comparison: Comparison, state: CompareState): void {
  const pictures = picturesOf(comparison, state)
  saveText(svgSheet(pictures, { ...fileSize, resolve: resolveColor }), 'compare.svg', 'image/svg+xml')
}

/** Every value of every panel's metric: one row per run and step. */
export async function saveCsv(client: ApiClient, { visible, panels }: Comparison): Promise<void> {
  const runs = visible.map(({ id, label }) => ({ id, label }))
  saveText(await fullCsvOf(client, runs, panels), 'compare.csv', 'text/csv')
}

export function saveReport(comparison: Comparison, state: CompareState): void {
  const { visible, panels, metric, seedGroups, tails, settings, valueOf, keys } = comparison
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
      steps: `${String(entry.step)} of ${String(entry.steps ?? '?')}`,
      color: resolveColor(style.color),
      values: panels.map((name) => formatNumber(valueOf(id, name))),
    })),
    pictures: picturesOf(comparison, state).map(({ title, scene }) =>
      sceneSvg(scene, { title, ...fileSize, resolve: resolveColor }),
    ),
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
