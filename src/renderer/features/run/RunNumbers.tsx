import type { ReactNode } from 'react'
import { useEta, useLoad, useNow } from '#renderer/client/live.ts'
import { link } from '#renderer/client/route.ts'
import { useRunEntry, useWorkerOf, type RunEntry } from '#renderer/client/runs.ts'
import { formatAgo, formatRewardDelta, memoryWords } from '#renderer/client/format.ts'
import { phaseWords, runTitle, stepShare } from '#renderer/client/words.ts'
import { EvalReward } from '#renderer/parts/EvalReward.tsx'
import { RunDuration } from '#renderer/parts/RunDuration.tsx'
import { Progress } from '#renderer/kit/states.tsx'

const aboutMapped =
  'Task managers count mapped weights with the process; the system may drop them and read them again from the file.'

/** Progress and reward gained; the time of a step is in its own panel. */
export function RunNumbers({ run }: { readonly run: RunEntry }) {
  const eta = useEta(run.id)
  const worker = useWorkerOf(run.id)
  const memory = useLoad()?.memory.training.find(({ runId }) => runId === run.id)
  const parent = useRunEntry(run.parentRunId ?? '')
  const isLiving = worker !== undefined && (run.status === 'running' || run.status === 'paused')
  const { rewardBefore, rewardAfter } = run
  return (
    <dl className="flex min-w-0 flex-wrap items-center gap-x-6 gap-y-1">
      <Fact name="Step">
        {Math.max(run.step, run.parentCheckpointStep ?? 0)}
        {run.steps !== null && <span className="text-muted">/{run.steps}</span>}
        {worker !== undefined && (
          <Progress
            label="Steps of the run"
            value={stepShare(run)}
            className="ml-2 inline-block w-24 align-middle"
          />
        )}
      </Fact>
      {isLiving && <Fact name="Now">{phaseWords(run.phase, worker)}</Fact>}
      {eta !== null && (
        <Fact name="Left">
          {eta.left}
          {eta.later}
        </Fact>
      )}
      {(rewardBefore !== null || rewardAfter !== null) && (
        <Fact name="Eval reward">
          <EvalReward run={run} /> <Gain before={rewardBefore} after={rewardAfter} />
        </Fact>
      )}
      {memory !== undefined && (
        <Fact name="Memory">
          <span title={aboutMapped}>{memoryWords(memory)}</span>
        </Fact>
      )}
      <Times run={run} isOver={worker === undefined} />
      {parent !== undefined && (
        <Fact name="Forked from">
          <a className="text-accent-ink hover:underline" href={link(`/runs/${parent.id}/overview`)}>
            {runTitle(parent)}
          </a>{' '}
          <span className="text-muted">step {run.parentCheckpointStep}</span>
        </Fact>
      )}
    </dl>
  )
}

function Times({ run, isOver }: { readonly run: RunEntry; readonly isOver: boolean }) {
  const now = useNow(30_000)
  return (
    <>
      <Fact name="Started">{formatAgo(run.createdAt, now)}</Fact>
      {isOver && run.step > 0 && (
        <Fact name="Took">
          <RunDuration run={run} />
        </Fact>
      )}
    </>
  )
}

const Gain = ({ before, after }: { before: number | null; after: number | null }) =>
  before !== null &&
  after !== null &&
  after !== before && (
    <span className={after > before ? 'text-good' : 'text-muted'}>{formatRewardDelta(after - before)}</span>
  )

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="flex items-baseline gap-1.5 whitespace-nowrap phone:whitespace-normal">
    <dt className="text-sm text-muted">{name}</dt>
    <dd className="font-medium tabular-nums">{children}</dd>
  </div>
)
