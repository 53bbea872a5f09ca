/** Settings and results of runs as places in a picture. */
import type { ParallelRun } from '#renderer/charts/ParallelCoordinates.tsx'
import type { ScatterDot } from '#renderer/charts/ScatterChart.tsx'
import type { ComparedRun } from './data.ts'
import { shortSetting, type Settings, type SettingValue } from './settingDiff.ts'

export interface RelatedRun extends ComparedRun {
  /** The result. */
  readonly value: number | null
}

export type SettingsOfRuns = ReadonlyMap<string, Settings>

/** Numbers first, the seed last. */
export function orderedKeys(
  keys: readonly string[],
  runs: readonly RelatedRun[],
  settings: SettingsOfRuns,
): readonly string[] {
  const isNumeric = (key: string) => runs.every(({ id }) => typeof settings.get(id)?.get(key) === 'number')
  const rank = (key: string) => (key === 'seed' ? 2 : isNumeric(key) ? 0 : 1)
  return keys.toSorted((a, b) => rank(a) - rank(b))
}

/** `at`: what a run has along x. Runs that lack one of the two are left out. */
export function dotsOf(
  runs: readonly RelatedRun[],
  at: (runId: string) => SettingValue | undefined,
): readonly ScatterDot[] {
  return runs.flatMap(({ id, label, style, isBaseline, value }) => {
    const x = at(id) ?? null
    if (value === null || x === null) return []
    return [
      { id, label, color: style.color, isBaseline, x: typeof x === 'number' ? x : shortSetting(x), y: value },
    ]
  })
}

export const resultKey = (metric: string): string => `result ${metric}`

export function parallelRunsOf(
  runs: readonly RelatedRun[],
  keys: readonly string[],
  settings: SettingsOfRuns,
  metric: string,
): readonly ParallelRun[] {
  const shown = (value: SettingValue | undefined) =>
    typeof value === 'string' ? shortSetting(value) : (value ?? null)
  return runs.map(({ id, label, style, isBaseline, value }) => ({
    id,
    label,
    color: style.color,
    dash: style.dash,
    isBaseline,
    values: {
      ...Object.fromEntries(keys.map((key) => [key, shown(settings.get(id)?.get(key))])),
      [resultKey(metric)]: value,
    },
  }))
}
