/** Groups of runs: those that differ only in their seed, or share the value of a setting. */
import type { RunGroup } from '#shared/runGaps.ts'
import { labelOf } from '#shared/config/fields.ts'
import { settingsButSeed, sharedBeginning } from '#shared/seedFamilies.ts'
import { differingKeys, shortSetting, type Settings } from './settingDiff.ts'

export interface GroupedRun {
  readonly id: string
  readonly label: string
  readonly settings: Settings
}

const bySeed = 'seed'

/** Groups runs; `group` 'seed' requires all settings except the seed to be equal. Groups are ordered by their first run. */
export function groupRuns(runs: readonly GroupedRun[], group: string): readonly RunGroup[] {
  const keyOf = (run: GroupedRun) =>
    group === bySeed ? settingsButSeed(run.settings) : shortSetting(run.settings.get(group))
  const found = Map.groupBy(runs, keyOf)
  const differing = differingKeys(runs.map(({ settings }) => settings)).filter((key) => !isSeed(key))
  return [...found].map(([key, members]) => ({
    id: `group ${members[0]?.id ?? key}`,
    label: group === bySeed ? seedLabel(members, differing) : `${labelOf(group)} ${key}`,
    runIds: members.map(({ id }) => id),
  }))
}

const isSeed = (key: string): boolean => key === 'seed'

/** Labels a group by the common start of its runs' names, or by its distinguishing settings; a single run keeps its name. */
function seedLabel(members: readonly GroupedRun[], differing: readonly string[]): string {
  const [first] = members
  if (!first) return ''
  if (members.length === 1) return first.label
  const shared = sharedBeginning(members.map(({ label }) => label))
  const traits = differing
    .slice(0, 2)
    .map((key) => `${labelOf(key)} ${shortSetting(first.settings.get(key))}`)
  const name = shared.length >= 3 ? shared : traits.length > 0 ? traits.join(', ') : first.label
  return `${name} · ${String(members.length)} seeds`
}
