import { meanOf } from '#shared/mean.ts'
import { History } from 'lucide-react'
import { useState, useMemo } from 'react'
import { formatReward, formatDelta, formatNumber, plural } from '#renderer/client/format.ts'
import { link } from '#renderer/client/route.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { EmptyState, Loading, ErrorNote, TaskProgress } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { KeyValue, SidePane } from '#renderer/kit/Page.tsx'
import type { Answer } from '#renderer/client/api.tsx'
import { versionNumber } from '#renderer/parts/rewardLibrary.ts'
import type { RewardKind, RewardVersion } from '#renderer/parts/rewardTypes.ts'
import { useRescore } from './useTrials.ts'
import { numberColumn, plainColumn, figureColumn, unnamedColumn } from '#renderer/kit/columns.tsx'

interface UsedByTabProps {
  readonly rewardId: string
  readonly kind: RewardKind
  readonly versions: readonly RewardVersion[]
  /** Undefined while loading. */
  readonly uses: readonly { readonly runId: string; readonly version: string }[] | undefined
}

interface Line {
  readonly run: RunEntry
  readonly version: string
}

/** Lists runs trained with the code, and their rewards under another version. */
export function UsedByTab({ rewardId, kind, versions, uses }: UsedByTabProps) {
  const { runs } = useRuns()
  const [rescored, setRescored] = useState<Line | null>(null)
  if (uses === undefined) return <Loading label="Searching the runs" />
  const byId = new Map(runs.map((run) => [run.id, run]))
  const lines = uses.flatMap(({ runId, version }): Line[] => {
    const run = byId.get(runId)
    return run === undefined ? [] : [{ run, version }]
  })
  if (lines.length === 0) {
    return (
      <EmptyState
        icon={History}
        iconSize={24}
        title="No run has used it yet."
        action={
          versions.length > 0 && (
            <a className="text-accent-ink underline" href={link('/new-run', { reward: rewardId })}>
              Train with it
            </a>
          )
        }
      >
        Runs that used this {kind} appear here, with the version they used.
      </EmptyState>
    )
  }
  return (
    <div className={`${besideClasses} h-full`}>
      <Table
        label="Runs"
        rows={lines}
        columns={columnsFor(versions, kind === 'reward' ? setRescored : null)}
        rowKey={({ run, version }) => `${run.id} ${version}`}
        isSelected={({ run, version }) => run.id === rescored?.run.id && version === rescored.version}
      />
      {rescored !== null && (
        <RescorePane
          key={`${rescored.run.id} ${rescored.version}`}
          rewardId={rewardId}
          run={rescored.run}
          used={rescored.version}
          versions={versions}
          onClose={() => setRescored(null)}
        />
      )}
    </div>
  )
}

function columnsFor(
  versions: readonly RewardVersion[],
  onRescore: ((line: Line) => void) | null,
): Column<Line>[] {
  const base: Column<Line>[] = [
    plainColumn(
      ['run', 'Run', 'minmax(160px, 2fr)'],
      ({ run }) => (
        <a className="text-accent-ink hover:underline" href={link(`/runs/${run.id}/overview`)}>
          {runTitle(run)} <span className="text-xs text-faint">{run.id.slice(-4)}</span>
        </a>
      ),
      ({ run }) => runTitle(run),
    ),
    { id: 'status', title: 'Status', width: '112px', cell: ({ run }) => <StatusBadge status={run.status} /> },
    figureColumn(
      ['version', 'Version', '80px'],
      ({ version }) => versionNumber(versions, version) ?? '',
      ({ version }) => versionNumber(versions, version),
    ),
    numberColumn(['reward', 'Reward', '80px'], ({ run }) => run.reward, formatReward),
  ]
  if (onRescore === null) return base
  const action: Column<Line> = unnamedColumn(['rescore', 'Actions', '104px'], (line) => (
    <Button small aria-label={`Dry-run on samples of ${runTitle(line.run)}`} onClick={() => onRescore(line)}>
      Dry-run
    </Button>
  ))
  return [...base, action]
}

interface RescorePaneProps {
  readonly rewardId: string
  readonly run: RunEntry
  /** Version it was trained with. */
  readonly used: string
  readonly versions: readonly RewardVersion[]
  readonly onClose: () => void
}

const maxShown = 50

/** Rescores the stored samples of a run with another version. */
function RescorePane({ rewardId, run, used, versions, onClose }: RescorePaneProps) {
  const [version, setVersion] = useState(versions[0]?.hash ?? used)
  const { task, start, scores, samples, partName } = useRescore({ runId: run.id, version, rewardId })
  const comparison = useMemo(
    () => (scores === null ? null : compareScores(samples, scores, partName)),
    [scores, samples, partName],
  )
  return (
    <SidePane title="Dry-run on recorded samples" width="w-108" onClose={onClose}>
      <div className="flex items-center gap-2">
        <label className="flex items-center gap-2 text-muted">
          With
          <Select
            small
            aria-label="Version to score with"
            value={version}
            options={versions.map(({ hash, note }) => ({
              value: hash,
              label: `version ${String(versionNumber(versions, hash))}${hash === used ? ' (trained with)' : ''}${note === '' ? '' : ` · ${note}`}`,
            }))}
            onChange={setVersion}
          />
        </label>
        <Button small variant="primary" disabled={task.state === 'running'} onClick={start}>
          Dry-run
        </Button>
      </div>
      {task.state === 'running' && (
        <TaskProgress
          progress={
            task.last?.progress ?? { phase: 'Reading samples', done: 0, total: null, unit: 'samples' }
          }
          onCancel={task.cancel}
        />
      )}
      {task.error !== null && <ErrorNote error={task.error} />}
      {comparison !== null && task.state !== 'running' && (
        <ScoreComparison comparison={comparison} runId={run.id} />
      )}
    </SidePane>
  )
}

interface ComparisonProps {
  readonly comparison: ReturnType<typeof compareScores>
  readonly runId: string
}

/** Scores then and now, and the samples that changed most. */
const ScoreComparison = ({ comparison, runId }: ComparisonProps) => (
  <>
    <KeyValue
      entries={[
        ['Samples', String(comparison.samples)],
        ['Mean then', formatNumber(comparison.meanBefore)],
        ['Mean now', `${formatNumber(comparison.meanAfter)} (${formatDelta(differenceOf(comparison))})`],
        ['Changed', plural(comparison.changed, 'sample')],
        comparison.failed > 0 && ['Failed', plural(comparison.failed, 'sample')],
      ]}
    />
    <ol className="flex flex-col" aria-label="Samples that changed most">
      {comparison.changes.slice(0, maxShown).map((change) => (
        <ChangeItem key={change.sample.id} change={change} runId={runId} />
      ))}
    </ol>
  </>
)

const differenceOf = ({ meanBefore, meanAfter }: { meanBefore: number | null; meanAfter: number | null }) =>
  meanBefore === null || meanAfter === null ? null : meanAfter - meanBefore

function ChangeItem({ change: { sample, before, after, error }, runId }: { change: Change; runId: string }) {
  return (
    <li className="flex gap-2 border-t border-line py-1">
      <a
        className="w-14 shrink-0 text-accent-ink tabular-nums hover:underline"
        href={link(`/runs/${runId}/samples`, { step: String(sample.step), sample: String(sample.id) })}
      >
        step {sample.step}
      </a>
      <span dir="auto" className="line-clamp-2 min-w-0 grow font-mono break-words">
        {error ?? sample.completion}
      </span>
      <span className="shrink-0 font-mono whitespace-nowrap tabular-nums">
        {reward(before)} → {error === null ? reward(after) : 'failed'}
      </span>
    </li>
  )
}

const reward = (value: number | null): string => (value === null ? 'null' : formatNumber(value))

/* Stored samples under another version: what they earned then, and what they would earn now. */

type Sample = Answer<'samples.list'>[number]
type Rescored = Answer<'samples.rescore'>['scores'][number]

interface Change {
  readonly sample: Sample
  readonly before: number | null
  readonly after: number | null
  readonly error: string | null
}

interface Comparison {
  readonly samples: number
  readonly changed: number
  readonly failed: number
  /** Mean over samples with a reward before and after; null without any. */
  readonly meanBefore: number | null
  readonly meanAfter: number | null
  /** Largest difference first. */
  readonly changes: readonly Change[]
}

/** Sums the parts that apply; null if none does. */
const totalOf = (parts: Readonly<Record<string, number | null>>): number | null => {
  const values = Object.values(parts).filter((value) => value !== null)
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0)
}

/** Returns the parts of one config entry: its own name, or names of its functions after it. */
const partsOf = (parts: Sample['parts'], name: string): Sample['parts'] =>
  Object.fromEntries(Object.entries(parts).filter(([part]) => part === name || part.startsWith(`${name}.`)))

const tolerance = 1e-9

const difference = ({ before, after }: Change): number =>
  before === null || after === null ? (before === after ? 0 : Infinity) : Math.abs(after - before)

/** Compares scores. `name`: part of the run's reward from this code, which alone is compared if there are others. */
export function compareScores(
  samples: readonly Sample[],
  scores: readonly Rescored[],
  name: string | null,
): Comparison {
  const byId = new Map(samples.map((sample) => [sample.id, sample]))
  const all = scores.flatMap(({ sampleId, parts, error }): Change[] => {
    const sample = byId.get(sampleId)
    if (sample === undefined) return []
    const before = name === null ? sample.reward : totalOf(partsOf(sample.parts, name))
    return [{ sample, before, after: totalOf(parts), error }]
  })
  const both = all.filter(({ before, after }) => before !== null && after !== null)
  return {
    samples: all.length,
    changed: all.filter((change) => change.error === null && difference(change) > tolerance).length,
    failed: all.filter(({ error }) => error !== null).length,
    meanBefore: meanOf(both.map(({ before }) => before ?? 0)),
    meanAfter: meanOf(both.map(({ after }) => after ?? 0)),
    changes: all
      .filter((change) => change.error !== null || difference(change) > tolerance)
      .sort((a, b) => difference(b) - difference(a)),
  }
}
