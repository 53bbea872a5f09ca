import { useMemo, useState } from 'react'
import { classes } from '#renderer/kit/classes.ts'
import { Select, Checkbox } from '#renderer/kit/choices.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { algorithmTitle, useRunSettings } from '#renderer/client/runSettings.ts'
import { LineMark } from '#renderer/charts/marks.tsx'
import { LazyCodeDiff } from '#renderer/editor/lazyEditor.tsx'
import { labelOf } from '#shared/config/fields.ts'
import { type RunRecord, useRewardCode } from './useCompared.ts'
import type { ComparedRun } from './data.ts'
import { settingRows, settingText, shortSetting, type Settings } from './settingDiff.ts'

interface DifferencesProps {
  readonly runs: readonly ComparedRun[]
  readonly settings: ReadonlyMap<string, Settings>
  readonly records: ReadonlyMap<string, RunRecord>
}

/** Lists settings that differ between the runs, and rewards whose code changed. */
export function Differences({ runs, settings, records }: DifferencesProps) {
  const [hasAll, setAll] = useState(false)
  const known = runs.filter(({ id }) => settings.has(id))
  const rows = useMemo(
    () => settingRows(known.map(({ id }) => settings.get(id) ?? new Map())),
    [known, settings],
  )
  const shown = rows.filter(({ isDifferent }) => hasAll || isDifferent)
  return (
    <Panel
      title="What differs"
      isFlush
      actions={<Checkbox label="All settings" checked={hasAll} onChange={setAll} />}
    >
      {shown.length === 0 ? (
        <p className="p-3 text-muted">
          {known.length < 2
            ? 'Add a second run to see differences.'
            : 'Only their names: settings and seed are the same.'}
        </p>
      ) : (
        <SettingsTable runs={known} rows={shown} />
      )}
      <RewardDiff runs={known} records={records} />
    </Panel>
  )
}

interface SettingsTableProps {
  readonly runs: readonly ComparedRun[]
  readonly rows: ReturnType<typeof settingRows>
}

/** Lists settings with their values; those of the baseline are pale. */
function SettingsTable({ runs: known, rows }: SettingsTableProps) {
  const algorithms = useRunSettings()?.algorithms ?? []
  const first = Math.max(
    0,
    known.findIndex(({ isBaseline }) => isBaseline),
  )
  return (
    <div className="overflow-x-auto" tabIndex={0} role="group" aria-label="Settings that differ">
      <table className="w-full text-sm">
        <thead>
          <tr className="border-b border-line text-left text-muted">
            <th scope="col" className="sticky left-0 bg-bg px-3 py-1.5 font-medium">
              Setting
            </th>
            {known.map((run) => (
              <th key={run.id} scope="col" className="max-w-48 min-w-28 px-3 py-1.5 font-medium">
                <span className="flex items-center gap-1.5">
                  <LineMark color={run.style.color} dash={run.style.dash} isThick={run.isBaseline} />
                  <span className="truncate" title={run.label}>
                    {run.label}
                  </span>
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, values }) => (
            <tr key={key} className="border-b border-line last:border-b-0 hover:bg-panel">
              <th
                scope="row"
                title={key}
                className="sticky left-0 bg-bg px-3 py-1 text-left font-normal text-muted"
              >
                {labelOf(key)}
              </th>
              {values.map((value, i) => (
                <td
                  key={known[i]?.id}
                  title={settingText(value)}
                  className={classes(
                    'max-w-48 truncate px-3 py-1 font-mono',
                    value === values[first] ? 'text-muted' : 'font-medium text-text',
                  )}
                >
                  {/algorithm\.id$/.test(key) && typeof value === 'string'
                    ? algorithmTitle(value, algorithms)
                    : shortSetting(value)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function RewardDiff({ runs, records }: Pick<DifferencesProps, 'runs' | 'records'>) {
  const files = useMemo(() => {
    const found = runs.flatMap((run) => {
      const record = records.get(run.id)
      return record ? [{ run, rewards: rewardFiles(record.config, record.manifest?.rewards ?? {}) }] : []
    })
    return found
  }, [runs, records])
  const changed = useMemo(() => changedRewards(files), [files])
  const code = useRewardCode(changed.length > 0)
  const [name, setName] = useState<string | null>(null)
  const [otherId, setOther] = useState<string | null>(null)
  const reward = changed.find((candidate) => candidate === name) ?? changed[0]
  const using = files.filter(({ rewards }) => reward !== undefined && rewards.has(reward))
  const base = using.find(({ run }) => run.isBaseline) ?? using[0]
  const others = using.filter(
    ({ run, rewards }) =>
      run !== base?.run &&
      reward !== undefined &&
      rewards.get(reward)?.digest !== base?.rewards.get(reward)?.digest,
  )
  const other = others.find(({ run }) => run.id === otherId) ?? others[0]
  if (reward === undefined || base === undefined || other === undefined) return null
  const [before, after] = [base, other].map(({ rewards }) => code.get(rewards.get(reward)?.file ?? ''))
  return (
    <div className="border-t border-line">
      <div className="flex flex-wrap items-center gap-2 px-3 py-2">
        <h3 className="font-medium">Code of the reward</h3>
        <Select small aria-label="Reward" value={reward} options={changed} onChange={setName} />
        <span className="text-muted">in “{base.run.label}” against</span>
        <Select
          small
          aria-label="Run to compare the code with"
          value={other.run.id}
          options={others.map(({ run }) => ({ value: run.id, label: run.label }))}
          onChange={setOther}
        />
      </div>
      {before && after ? (
        <div className="h-72 border-t border-line">
          <LazyCodeDiff
            before={before.code}
            after={after.code}
            language={after.language}
            label={`Code of ${reward}`}
          />
        </div>
      ) : (
        <p className="px-3 pb-3 text-sm text-muted">
          The code differs. It is not in the library, so only its digests are known:{' '}
          <code className="font-mono">{base.rewards.get(reward)?.digest.slice(0, 12)}</code> and{' '}
          <code className="font-mono">{other.rewards.get(reward)?.digest.slice(0, 12)}</code>.
        </p>
      )}
    </div>
  )
}

function changedRewards(
  files: readonly { readonly rewards: ReturnType<typeof rewardFiles> }[],
): readonly string[] {
  const names = [...new Set(files.flatMap(({ rewards }) => [...rewards.keys()]))]
  return names.filter(
    (name) => new Set(files.flatMap(({ rewards }) => rewards.get(name)?.digest ?? [])).size > 1,
  )
}

/* The rewards of a run: where their code lies and what it is. */

interface RewardFile {
  /** Path of the file, or id of a built-in. */
  readonly file: string
  /** Digest of code or settings from the run's manifest; the file path if it has none. */
  readonly digest: string
}

/** Rewards by their name on charts. `digests`: from the run's manifest. */
export function rewardFiles(
  config: string,
  digests: Readonly<Record<string, string>>,
): ReadonlyMap<string, RewardFile> {
  const parsed = JSON.parse(config) as {
    readonly rewards?: readonly { readonly function?: unknown; readonly name?: unknown }[]
  }
  return new Map(
    (parsed.rewards ?? []).flatMap(({ function: id, name }) => {
      if (typeof id !== 'string') return []
      const called = typeof name === 'string' ? name : nameOf(id)
      const file = id.replace(/(\.[cm]?[jt]s)#.+$/, '$1')
      return [[called, { file, digest: digests[called] ?? file }] as const]
    }),
  )
}

/** Returns the part after #, or the file name without its extension. */
const nameOf = (id: string): string =>
  /\.[cm]?[jt]s#(.+)$/.exec(id)?.[1] ?? id.replace(/^.*[\\/]/, '').replace(/\.[cm]?[jt]s$/, '')
