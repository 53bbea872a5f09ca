/** Export of a whole comparison to files. */
import { metricLabel } from '#shared/metrics.ts'
import type { ApiClient } from '#renderer/client/api.tsx'
import { fullCsvOf } from '#renderer/charts/useSeries.ts'
import { saveText } from '#renderer/client/download.ts'
import {
  pictureOf,
  savePng as savePicturePng,
  saveSvg as savePictureSvg,
  sheetOf,
  type Picture,
} from '#renderer/charts/pictures.tsx'
import { plotOf, xExtent } from '#renderer/charts/plot.ts'
import { linesInUnit, titleWithUnit, unitOf } from '#renderer/charts/units.ts'
import type { Comparison } from './useComparison.ts'
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

/** Saves the report that the host writes, with the panels' metrics; the baseline is compared with. */
export async function saveReport(client: ApiClient, { visible, panels }: Comparison): Promise<void> {
  const ids = visible.toSorted((a, b) => Number(b.isBaseline) - Number(a.isBaseline)).map(({ id }) => id)
  const { html } = await client.call('runs.report', { runIds: ids, metrics: [...panels] })
  saveText(html, 'compare.html', 'text/html')
}
