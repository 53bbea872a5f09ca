import { useMemo } from 'react'
import { formatAgo, plural } from '#renderer/client/format.ts'
import { useNow } from '#renderer/client/live.ts'
import { link } from '#renderer/client/route.ts'
import { useRunStyles, type RunEntry } from '#renderer/client/runs.ts'
import { meansOf, useSeries } from '#renderer/charts/useSeries.ts'
import { SparkLine } from '#renderer/charts/Spark.tsx'
import { runTitle } from '#renderer/client/words.ts'
import { CutName } from '#renderer/kit/CutName.tsx'
import { EvalReward } from '#renderer/parts/EvalReward.tsx'
import { useStudyTitles } from '#renderer/parts/StudyLink.tsx'
import { StatusBadge } from '#renderer/kit/Badge.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { Progress } from '#renderer/kit/states.tsx'

const shown = 6

/** Newest runs, each with its curve; of a study its newest trial. */
export function RecentRuns({ runs }: { runs: readonly RunEntry[] }) {
  const recent = useMemo(() => oneOfEachStudy(runs).slice(0, shown), [runs])
  const studies = useStudyTitles()
  const { byMetric } = useSeries({ runIds: recent.map(({ id }) => id), metrics: ['reward'], maxPoints: 60 })
  const styleOf = useRunStyles()
  const now = useNow(30_000)
  return (
    <Panel
      title="Last runs"
      isFlush
      actions={
        <a href={link('/runs')} className="px-2 text-sm text-accent-ink hover:underline">
          {runs.length === 1 ? 'All runs' : `All ${String(runs.length)} runs`}
        </a>
      }
    >
      <ul>
        {recent.map((run) => (
          <li key={run.id} className="border-b border-line last:border-b-0">
            <a
              href={link(
                run.studyId !== null && studies.has(run.studyId)
                  ? `/runs/studies/${run.studyId}`
                  : `/runs/${run.id}/overview`,
              )}
              className="@container block -outline-offset-2 hover:bg-panel"
            >
              <span className="grid min-h-11 grid-cols-[minmax(0,1fr)_104px_96px_112px_88px] items-center gap-x-3 px-3 @max-[620px]:grid-cols-[minmax(96px,1fr)_104px_112px] @max-[620px]:py-1.5 @max-[400px]:grid-cols-[minmax(0,1fr)_max-content]">
                <Named
                  run={run}
                  color={styleOf(run.id).color}
                  trials={studies.has(run.studyId ?? '') ? runs.filter(isOf(run.studyId)).length : null}
                />
                <span className="@max-[400px]:justify-self-end">
                  <StatusBadge status={run.status} finding={run.finding} />
                </span>
                <SparkLine
                  className="@max-[620px]:hidden"
                  width={96}
                  height={24}
                  color={styleOf(run.id).color}
                  values={meansOf(byMetric, 'reward', run.id)}
                />
                <Outcome run={run} />
                <span className="text-right text-sm text-faint @max-[620px]:hidden">
                  {formatAgo(run.createdAt, now)}
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface NamedProps {
  readonly run: RunEntry
  readonly color: string
  /** Number of its study's trials; null for a run of its own. */
  readonly trials: number | null
}

const Named = ({ run, color, trials }: NamedProps) => (
  <span className="flex min-w-0 items-center gap-2">
    <span aria-hidden className="size-2.5 shrink-0 rounded-full" style={{ background: color }} />
    <span className="min-w-0 font-medium">
      <CutName name={runTitle(run)} />
    </span>
    {trials !== null && <span className="shrink-0 text-muted">of {plural(trials, 'trial')}</span>}
    <span className="shrink-0 text-muted @max-[660px]:hidden">{run.algorithmTitle}</span>
  </span>
)

const isOf =
  (study: string | null) =>
  ({ studyId }: RunEntry): boolean =>
    studyId === study

/** Leaves out a study's other trials. */
function oneOfEachStudy(runs: readonly RunEntry[]): readonly RunEntry[] {
  const newest = new Map(runs.toReversed().map(({ id, studyId }) => [studyId, id]))
  return runs.filter(({ id, studyId }) => studyId === null || newest.get(studyId) === id)
}

function Outcome({ run }: { run: RunEntry }) {
  if (run.status === 'running' || run.status === 'paused') {
    return (
      <span className="flex flex-col items-end gap-1 text-sm text-muted tabular-nums @max-[400px]:col-span-2">
        <span>
          {run.step}/{run.steps ?? '?'}
        </span>
        <Progress
          label="Steps"
          value={run.steps === null ? null : run.step / run.steps}
          className="h-0.5 w-full"
        />
      </span>
    )
  }
  return (
    <span className="text-right font-mono text-sm tabular-nums @max-[400px]:col-span-2">
      <EvalReward run={run} />
    </span>
  )
}
