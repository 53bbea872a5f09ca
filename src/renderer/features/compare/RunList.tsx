import { Eye, EyeOff, Flag, X } from 'lucide-react'
import { metricLabel } from '#shared/metrics.ts'
import { formatDelta, formatReach, formatReward, plural } from '#renderer/client/format.ts'
import { link } from '#renderer/client/route.ts'
import { IconButton } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { CutName } from '#renderer/kit/CutName.tsx'
import { Skeleton } from '#renderer/kit/states.tsx'
import { LineMark } from '#renderer/charts/marks.tsx'
import type { ListedRun } from './useComparison.ts'
import { isProgress } from '#shared/runGaps.ts'
import { betterOf, statisticWords, type SeedMean } from './measures.ts'
import { statistics, type Statistic } from './state.ts'

interface RunListProps {
  readonly runs: readonly ListedRun[]
  readonly means: readonly SeedMean[]
  readonly metric: string | null
  /** Null while they are being read. */
  readonly metrics: readonly string[] | null
  readonly hasValues: boolean
  readonly statistic: Statistic
  readonly onMetric: (metric: string) => void
  readonly onStatistic: (statistic: Statistic) => void
  readonly onHide: (runId: string) => void
  readonly onBaseline: (runId: string) => void
  readonly onRemove: (runId: string) => void
}

/** Lists the chosen runs with their colours, the value of one metric, and its difference from the baseline. */
export function RunList(props: RunListProps) {
  const { runs, means, metric, metrics, statistic, onMetric, onStatistic } = props
  const baseline = runs.find(({ isBaseline }) => isBaseline)
  return (
    <aside aria-label="Compared runs" className="flex min-h-0 grow flex-col">
      <div className="flex flex-col gap-2 border-b border-line p-3">
        {metrics === null ? (
          <Skeleton label="Reading the metrics" className="h-7" />
        ) : (
          <Select
            aria-label="Metric of the list"
            value={metric ?? ''}
            options={metrics.map((name) => ({ value: name, label: metricLabel(name) }))}
            title={metric ?? undefined}
            onChange={onMetric}
          />
        )}
        <Select
          small
          aria-label="Which value"
          value={statistic}
          options={statistics.map((value) => ({ value, label: statisticWords[value] }))}
          onChange={onStatistic}
        />
      </div>
      <ul className="min-h-0 grow overflow-auto py-1">
        {runs.map((run) => (
          <RunLine key={run.id} run={run} baseline={baseline} {...props} />
        ))}
      </ul>
      {means.length > 0 && (
        <ul aria-label="Means with 95 % interval" className="border-t border-line px-3 py-2">
          {means.map(({ id, label, count, step, mean }) => (
            <li
              key={id}
              className="flex items-center gap-2"
              title={`Mean with 95 % interval over ${plural(count, 'seed')} at step ${String(step)}`}
            >
              <span className="min-w-0 grow">
                <CutName name={label} />
              </span>
              <span className="shrink-0 font-mono text-sm tabular-nums">
                {formatReward(mean?.value)}
                <span className="text-muted">{formatReach(mean)}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
      {baseline === undefined && runs.length > 1 && (
        <p className="border-t border-line px-3 py-2 text-sm text-faint">
          Mark a run as baseline to see differences from it.
        </p>
      )}
    </aside>
  )
}

interface LineProps extends RunListProps {
  readonly run: ListedRun
  readonly baseline: ListedRun | undefined
}

function RunLine({ run, baseline, metric, hasValues, onHide, onBaseline, onRemove }: LineProps) {
  const { id, label, style, isHidden, isBaseline, value, entry } = run
  const against = isBaseline ? null : (baseline?.value ?? null)
  const delta = value === null || against === null ? null : value - against
  return (
    <li className={classes('group px-3 py-1.5 hover:bg-panel', isHidden && 'opacity-60')}>
      <div className="flex items-center gap-2">
        <LineMark color={style.color} dash={style.dash} isThick={isBaseline} />
        <a href={link(`/runs/${id}`)} className="min-w-0 grow font-medium hover:underline">
          <CutName name={label} />
        </a>
        {value === null && !hasValues ? (
          <Skeleton label="Reading the value" className="h-4 w-12 shrink-0" />
        ) : (
          <span className="shrink-0 font-mono text-sm tabular-nums">{formatReward(value)}</span>
        )}
      </div>
      <div className="flex h-6 items-center gap-1 pl-6 text-sm">
        <span className="min-w-0 truncate text-faint">
          {isBaseline ? 'baseline' : `${entry.algorithmTitle} · seed ${String(entry.seed)}`}
        </span>
        <span className="ml-auto hidden shrink-0 items-center group-focus-within:flex group-hover:flex">
          <IconButton
            small
            label={isBaseline ? 'No longer the baseline' : `Set ${label} as baseline`}
            icon={Flag}
            iconSize={12}
            pressed={isBaseline}
            onClick={() => onBaseline(id)}
          />
          <IconButton
            small
            label={isHidden ? `Show ${label}` : `Hide ${label}`}
            icon={isHidden ? EyeOff : Eye}
            iconSize={12}
            pressed={isHidden}
            onClick={() => onHide(id)}
          />
          <IconButton
            small
            label={`Remove ${label} from the comparison`}
            icon={X}
            iconSize={12}
            onClick={() => onRemove(id)}
          />
        </span>
        {delta !== null && <Delta delta={delta} metric={metric} />}
      </div>
    </li>
  )
}

/** Difference to the baseline, shown beside the name of the run until its buttons replace it. */
function Delta({ delta, metric }: { delta: number; metric: LineProps['metric'] }) {
  const progress = metric === null ? null : isProgress(delta, betterOf(metric))
  return (
    <span
      className={classes(
        'shrink-0 font-mono tabular-nums group-focus-within:hidden group-hover:hidden',
        progress === true && 'text-good',
        progress === false && 'text-bad',
        progress === null && 'text-muted',
        'ml-auto',
      )}
    >
      {formatDelta(delta)}
    </span>
  )
}
