/** Runs compared and display options, all stored in the address, so that a link shows the same. */
import { metricDeclarations } from '#shared/metrics.ts'
import type { Query } from '#renderer/client/route.ts'
import type { BandKind } from '#renderer/charts/curves.ts'
import { lookQuery, parseLook, type CurveLook } from '#renderer/charts/curveLook.ts'

export const statistics = ['last', 'best', 'tail'] as const
/** Last value, best value, or mean of the last tenth. */
export type Statistic = (typeof statistics)[number]

const bands: readonly BandKind[] = ['range', 'deviation', 'interval']

export interface CompareState extends CurveLook {
  readonly runIds: readonly string[]
  readonly baseline: string | null
  readonly hidden: readonly string[]
  /** Null: the default panels among those available. */
  readonly panels: readonly string[] | null
  /** Dotted name of a setting, 'seed' for runs that differ in nothing else; null: a line per run. */
  readonly group: string | null
  /** Null: the 95 % interval for runs that differ only in their seed, the range for others. */
  readonly band: BandKind | null
  /** Metric whose values and differences are listed; null: that of the first panel. */
  readonly metric: string | null
  readonly statistic: Statistic
  readonly hasMarks: boolean
  /** Lets outliers leave their panel. */
  readonly clipsSpikes: boolean
  readonly zoom: readonly [number, number] | null
}

const listOf = (text: string | null): readonly string[] =>
  text === null ? [] : text.split(',').filter(Boolean)

/** Ignores anything invalid in the query. */
export function parseState(query: URLSearchParams): CompareState {
  const runIds = [...new Set(listOf(query.get('runs')))].slice(0, maxRuns)
  const baseline = query.get('baseline')
  const panels = query.get('panels')
  return {
    runIds,
    baseline: baseline !== null && runIds.includes(baseline) ? baseline : null,
    hidden: listOf(query.get('hidden')).filter((id) => runIds.includes(id)),
    panels: panels === null ? null : listOf(panels),
    ...parseLook(query),
    group: query.get('group'),
    band: oneOf(bands, query.get('band')) ?? null,
    metric: query.get('metric'),
    statistic: oneOf(statistics, query.get('by')) ?? 'last',
    hasMarks: query.get('marks') === '1',
    clipsSpikes: query.get('spikes') === '0',
    zoom: zoomOf(query.get('zoom')),
  }
}

export const shownBand = ({ band, group }: Pick<CompareState, 'band' | 'group'>): BandKind =>
  band ?? (group === 'seed' ? 'interval' : 'range')

/** Limit of `metrics.series` per request. */
export const maxRuns = 64

const oneOf = <T extends string>(known: readonly T[], text: string | null): T | undefined =>
  known.find((candidate) => candidate === text)

function zoomOf(text: string | null): readonly [number, number] | null {
  const [from, to] = (text ?? '').split('~').map(Number)
  return from !== undefined && to !== undefined && Number.isFinite(from) && Number.isFinite(to) && to > from
    ? [from, to]
    : null
}

/** Keeps only options that differ from the defaults. */
export function stateQuery(state: CompareState): Query {
  const { runIds, baseline, hidden, panels, zoom } = state
  return {
    runs: runIds.join(','),
    baseline,
    hidden: hidden.join(','),
    panels: panels === null ? null : panels.join(','),
    ...lookQuery(state),
    group: state.group,
    band: shownBand(state) === shownBand({ ...state, band: null }) ? null : state.band,
    metric: state.metric,
    by: state.statistic === 'last' ? null : state.statistic,
    marks: state.hasMarks ? '1' : null,
    spikes: state.clipsSpikes ? '0' : null,
    zoom: zoom === null ? null : zoom.map((value) => String(Number(value.toPrecision(6)))).join('~'),
  }
}

const defaultPanels = [...metricDeclarations].flatMap(([name, { chart }]) => (chart?.compared ? [name] : []))

const firstPanels = 6

/** Returns the first six panels that have values. */
export const panelsOf = (names: readonly string[]): readonly string[] => {
  const known = new Set(names)
  return defaultPanels.filter((name) => known.has(name)).slice(0, firstPanels)
}
