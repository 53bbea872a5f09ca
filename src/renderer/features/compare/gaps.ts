/** Which runs are held against the baseline, and by what. */
import { metricLabel } from '#shared/metrics.ts'
import { bootstrapDifference, seedDifference, singleDifference } from '#renderer/charts/statistics.ts'
import type { Better } from '#renderer/charts/summary.ts'
import type { ComparedRun } from './data.ts'
import { gapInWords, yardstick, type GapInWords } from './gapWords.ts'
import type { RunGroup } from './groups.ts'

export interface GapQuestion {
  readonly metric: string
  readonly better: Better
  readonly runs: readonly (ComparedRun & { readonly value: number | null })[]
  /** Runs that are the same but for their seed. */
  readonly groups: readonly RunGroup[]
  /** The last values of each run as they were. */
  readonly tails: ReadonlyMap<string, readonly number[]>
}

type Told = GapInWords & { readonly id: string }

/** Every other run, or group of seeds, against the baseline. Seeds of the baseline itself are its yardstick. */
export function gapsOf({ metric, better, runs, groups, tails }: GapQuestion): readonly Told[] {
  const base = runs.find(({ isBaseline }) => isBaseline)
  if (!base) return []
  const own = groups.find(({ runIds }) => runIds.includes(base.id))
  const ownValues = valuesOf(runs, own)
  const others = groups.filter((group) => group !== own)
  const words = (name: string, baseline: string) => ({
    metric: metricLabel(metric),
    ...{ better, name, baseline },
  })
  return others.flatMap((group): readonly Told[] => {
    const values = valuesOf(runs, group)
    const found =
      values.length > 1 ? seedDifference(values, ownValues) : singleDifference(values[0] ?? NaN, ownValues)
    if (found && own) return [{ id: group.id, ...gapInWords(found, words(group.label, own.label)) }]
    return group.runIds.map((id) => ({
      id,
      ...gapInWords(
        bootstrapDifference(tails.get(id) ?? [], tails.get(base.id) ?? []),
        words(runs.find((run) => run.id === id)?.label ?? id, base.label),
      ),
    }))
  })
}

const valuesOf = (runs: GapQuestion['runs'], group: RunGroup | undefined): readonly number[] =>
  runs.flatMap(({ id, value }) => (group?.runIds.includes(id) === true && value !== null ? [value] : []))

/** What is said of the seeds of the baseline; null where it has no other. */
export function yardstickOf({ metric, runs, groups }: GapQuestion): string | null {
  const own = groups.find(({ runIds }) =>
    runs.some(({ id, isBaseline }) => isBaseline && runIds.includes(id)),
  )
  return own
    ? yardstick(metricLabel(metric), own.label.replace(/ · \d+ seeds$/, ''), valuesOf(runs, own))
    : null
}
