import { link } from '#renderer/client/route.ts'
import { useRuns, useRunStyles, type RunEntry, type WorkerView } from '#renderer/client/runs.ts'
import { useSeries } from '#renderer/charts/useSeries.ts'
import { formatFixed } from '#renderer/client/format.ts'
import { phaseWords, runTitle } from '#renderer/client/words.ts'
import { Panel } from '#renderer/kit/Panel.tsx'
import { Progress } from '#renderer/kit/states.tsx'
import { SparkLine } from '#renderer/charts/Spark.tsx'

/** What trains now, live; nothing where nothing does. */
export function AtWork() {
  const { runs, workers } = useRuns()
  const atWork = workers.flatMap((worker) => {
    const run = runs.find(({ id }) => id === worker.runId)
    return run === undefined ? [] : [{ run, worker }]
  })
  const { byMetric } = useSeries({
    runIds: atWork.map(({ run }) => run.id),
    metrics: ['reward'],
    maxPoints: 120,
  })
  if (atWork.length === 0) return null
  return (
    <Panel title="Training now" isFlush>
      <ul className="divide-y divide-line">
        {atWork.map(({ run, worker }) => (
          <li key={run.id}>
            <LivingRun
              run={run}
              worker={worker}
              rewards={
                byMetric
                  .get('reward')
                  ?.get(run.id)
                  ?.points.map(({ mean }) => mean) ?? []
              }
            />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface LivingRunProps {
  readonly run: RunEntry
  readonly worker: WorkerView
  /** Of its steps, reduced. */
  readonly rewards: readonly number[]
}

function LivingRun({ run, worker, rewards }: LivingRunProps) {
  const { color } = useRunStyles()(run.id)
  const share = run.steps === null ? null : run.step / run.steps
  const last = rewards.at(-1)
  return (
    <a
      href={link(`/runs/${run.id}/overview`)}
      className="flex flex-wrap items-center gap-x-5 gap-y-2 px-3 py-2.5 -outline-offset-2 hover:bg-panel"
    >
      <span className="min-w-40 grow basis-0">
        <span className="flex min-w-0 items-baseline gap-2">
          <span className="truncate font-medium">{runTitle(run)}</span>
          <span className="shrink-0 text-sm text-muted">
            {worker.isSilent ? 'gives no sign of life' : phaseWords(run.phase, worker)}
          </span>
        </span>
        <span className="mt-1.5 flex items-center gap-3 text-sm text-muted tabular-nums">
          <Progress label={`Steps of ${runTitle(run)}`} value={share} className="grow" />
          <span className="shrink-0">
            step {run.step}
            {run.steps !== null && `/${String(run.steps)}`}
          </span>
        </span>
      </span>
      <SparkLine values={rewards} color={color} width={180} height={36} />
      <span className="w-16 shrink-0 text-right">
        <span className="block font-mono tabular-nums">{last === undefined ? '–' : formatFixed(last)}</span>
        <span className="block text-xs text-faint">reward</span>
      </span>
    </a>
  )
}
