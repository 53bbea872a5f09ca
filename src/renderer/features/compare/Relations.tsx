import { useMemo, useState } from 'react'
import { metricLabel } from '#shared/metrics.ts'
import { navigate } from '#renderer/client/route.ts'
import { Segmented, Select } from '#renderer/kit/choices.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { ParallelCoordinates, type ParallelRun } from '#renderer/charts/ParallelCoordinates.tsx'
import type { ScaleKind } from '#renderer/charts/axes.ts'
import type { Brushes } from '#renderer/charts/parallelAxes.ts'
import { ScatterChart, type ScatterDot } from '#renderer/charts/ScatterChart.tsx'
import { labelOf } from '#shared/config/fields.ts'
import type { ComparedRun } from './data.ts'
import { shortSetting, type Settings, type SettingValue } from './settingDiff.ts'

interface RelationsProps {
  readonly runs: readonly RelatedRun[]
  readonly settings: SettingsOfRuns
  readonly keys: readonly string[]
  /** Names of metrics; `valueOf` returns their value for a run. */
  readonly metrics: readonly string[]
  readonly valueOf: (runId: string, metric: string) => number | null
  readonly metric: string
}

type Kind = 'scatter' | 'parallel'

const maxAxes = 6
const nothingDiffers = 'The runs differ in no setting. Change one in a fork to see what it does.'

/** A dot for each run at the chosen setting or metric; without a choice, at the first. */
function useDots({ runs, settings, keys, metrics, valueOf, metric }: RelationsProps) {
  const [chosen, setX] = useState<string | null>(null)
  const xKeys = useMemo(
    () => [...orderedKeys(keys, runs, settings), ...metrics.filter((name) => name !== metric)],
    [keys, runs, settings, metrics, metric],
  )
  const x = chosen !== null && xKeys.includes(chosen) ? chosen : xKeys[0]
  const dots = useMemo(() => {
    if (x === undefined) return []
    return dotsOf(runs, (id) => (keys.includes(x) ? settings.get(id)?.get(x) : valueOf(id, x)))
  }, [runs, settings, keys, x, valueOf])
  return { xKeys, x, setX, dots }
}

/** A line for each run over the axes of settings that differ, and its result. */
function useParallel({
  runs,
  settings,
  keys,
  metric,
}: Pick<RelationsProps, 'runs' | 'settings' | 'keys' | 'metric'>) {
  const axisKeys = useMemo(() => keys.slice(0, maxAxes), [keys])
  const axes = useMemo(
    () => [
      ...axisKeys.map((key) => ({ key, label: labelOf(key) })),
      { key: resultKey(metric), label: metricLabel(metric) },
    ],
    [axisKeys, metric],
  )
  const lines = useMemo(
    () => parallelRunsOf(runs, axisKeys, settings, metric),
    [runs, axisKeys, settings, metric],
  )
  return { axes, lines }
}

const openRun = (runId: string): void => navigate(`/runs/${runId}`)

/** Plots settings against results, with a dot or a line per run. */
export function Relations({ runs, settings, keys, metrics, valueOf, metric }: RelationsProps) {
  const [kind, setKind] = useState<Kind>('scatter')
  const nameOf = (key: string) => (keys.includes(key) ? labelOf(key) : metricLabel(key))
  const [scale, setScale] = useState<ScaleKind>('linear')
  const [brushes, setBrushes] = useState<Brushes>({})
  const [front, setFront] = useState<string | null>(null)
  const { xKeys, x, setX, dots } = useDots({ runs, settings, keys, metrics, valueOf, metric })
  const { axes, lines } = useParallel({ runs, settings, keys, metric })
  return (
    <Panel
      title="Settings and result"
      isFlush
      actions={
        <>
          {kind === 'scatter' && x !== undefined && (
            <XActions keys={xKeys} nameOf={nameOf} x={x} onX={setX} scale={scale} onScale={setScale} />
          )}
          <Segmented<Kind>
            label="Kind of picture"
            value={kind}
            options={{ scatter: 'Scatter', parallel: 'Parallel' }}
            onChange={setKind}
          />
        </>
      }
    >
      {kind === 'scatter' ? (
        <ScatterChart
          title={`${metricLabel(metric)} by ${x === undefined ? 'setting' : nameOf(x)}`}
          xLabel={x === undefined ? '' : nameOf(x)}
          yLabel={metricLabel(metric)}
          dots={dots}
          xScale={scale}
          emptyText={
            x === undefined
              ? nothingDiffers
              : `No run has both “${nameOf(x)}” and “${metricLabel(metric)}” yet.`
          }
          onOpen={openRun}
        />
      ) : (
        <ParallelCoordinates
          {...{ axes, brushes, front }}
          title="Settings of each run and its result"
          runs={lines}
          onBrush={setBrushes}
          onFront={setFront}
          onOpen={openRun}
          emptyText={nothingDiffers}
        />
      )}
    </Panel>
  )
}

interface XActionsProps {
  readonly keys: readonly string[]
  readonly nameOf: (key: string) => string
  readonly x: string
  readonly onX: (key: string) => void
  readonly scale: ScaleKind
  readonly onScale: (scale: ScaleKind) => void
}

function XActions({ keys, nameOf, x, onX, scale, onScale }: XActionsProps) {
  return (
    <>
      <Select
        small
        aria-label="Along x"
        value={x}
        options={keys.map((key) => ({ value: key, label: nameOf(key) }))}
        title={x}
        onChange={onX}
        className="w-52 max-w-full"
      />
      <Segmented<ScaleKind>
        label="Scale of x"
        value={scale}
        options={{ linear: 'Linear', log: 'Log' }}
        onChange={onScale}
      />
    </>
  )
}

/* Settings and results of runs as places in a picture. */

interface RelatedRun extends ComparedRun {
  readonly value: number | null
}

type SettingsOfRuns = ReadonlyMap<string, Settings>

/** Sorts numbers first, the seed last. */
function orderedKeys(
  keys: readonly string[],
  runs: readonly RelatedRun[],
  settings: SettingsOfRuns,
): readonly string[] {
  const isNumeric = (key: string) => runs.every(({ id }) => typeof settings.get(id)?.get(key) === 'number')
  const rank = (key: string) => (key === 'seed' ? 2 : isNumeric(key) ? 0 : 1)
  return keys.toSorted((a, b) => rank(a) - rank(b))
}

/** Returns a dot per run; `at` returns its x. Runs without one of the two values are left out. */
function dotsOf(
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

const resultKey = (metric: string): string => `result ${metric}`

function parallelRunsOf(
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
