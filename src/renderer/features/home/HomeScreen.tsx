import { useState } from 'react'
import { deviceTitles, type DeviceCheck, type DeviceKind } from '#shared/device.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { CutName } from '#renderer/kit/CutName.tsx'
import { Page, Panel } from '#renderer/kit/Page.tsx'
import { Loading, Progress } from '#renderer/kit/states.tsx'
import { QueueList } from '#renderer/features/queue/QueueList.tsx'
import { plural, formatAgo, formatFixed, formatBytes, formatShare } from '#renderer/client/format.ts'
import { goToNewRun, link } from '#renderer/client/route.ts'
import { atWorkOf, useRuns, type RunEntry, useRunStyles, type WorkerView } from '#renderer/client/runs.ts'
import { useNow, useLoad } from '#renderer/client/live.ts'
import { runTitle, phaseWords } from '#renderer/client/words.ts'
import { StatusBadge, Badge } from '#renderer/kit/Badge.tsx'
import { meansOf, useSeries } from '#renderer/charts/useSeries.ts'
import { SparkLine } from '#renderer/charts/Spark.tsx'
import { useAnswer } from '#renderer/client/api.tsx'
import { isSound, useDeviceChecks } from '#renderer/client/devices.ts'
import { useAddFile } from '#renderer/client/adding.ts'
import { BestPerTask } from './BestPerTask.tsx'
import { NextSteps } from './NextSteps.tsx'
import { RecentRuns } from './RecentRuns.tsx'
import { sampleTag, useRemoveSample, useSampleRun } from './FirstRunGuide.tsx'

/** Start page: the first run, then recent results and pending work. */
export function HomeScreen() {
  const { runs, isLoaded } = useRuns()
  return (
    <Page
      main={
        <Button variant={runs.length === 0 ? 'plain' : 'primary'} onClick={goToNewRun}>
          New run
        </Button>
      }
    >
      {!isLoaded ? (
        <Loading label="Reading the history" shape="cards" />
      ) : runs.length === 0 ? (
        <FirstRunCard />
      ) : (
        <div className="grid grid-cols-[minmax(0,1fr)_320px] items-start gap-6 narrow:grid-cols-[minmax(0,1fr)]">
          <div className="flex min-w-0 flex-col gap-6">
            <AtWork />
            <Troubles runs={runs} />
            {runs.every(({ tags }) => tags.includes(sampleTag)) && <NextSteps />}
            <RecentRuns runs={runs} />
            <BestPerTask runs={runs} />
          </div>
          <div className="flex min-w-0 flex-col gap-6">
            <Panel title="Queue">
              <QueueList />
            </Panel>
            <DeviceHealth />
            <SampleNote />
          </div>
        </div>
      )}
    </Page>
  )
}

/** Marks the sample and offers to remove it with one click. */
function SampleNote() {
  const { runs } = useRuns()
  const remove = useRemoveSample()
  const [isAsking, setAsking] = useState(false)
  const samples = runs.filter(({ tags }) => tags.includes(sampleTag))
  if (samples.length === 0) return null
  return (
    <section className="flex items-center gap-3 rounded border border-line px-3 py-2">
      <p className="grow text-muted">{plural(samples.length, 'run')} of the sample</p>
      <Button small onClick={() => setAsking(true)}>
        Remove the sample
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Remove the sample?"
        action="Remove the sample"
        onConfirm={() => remove(samples.map(({ id }) => id))}
      >
        {plural(samples.length, 'run')} with checkpoints and metrics will be deleted. Your own runs, data
        sets, rewards and models stay as they are.
      </ConfirmDialog>
    </section>
  )
}

/** Lists runs that need attention; renders nothing if there are none. */
function Troubles({ runs }: { runs: readonly RunEntry[] }) {
  const now = useNow(30_000)
  const troubles = troublesOf(runs, now)
  if (troubles.length === 0) return null
  return (
    <Panel title="Needs attention" isFlush>
      <ul className="divide-y divide-line">
        {troubles.map(({ run, words }) => (
          <li key={run.id}>
            <a
              href={link(`/runs/${run.id}/overview`)}
              className="flex items-start gap-3 px-3 py-2 -outline-offset-2 hover:bg-panel phone:flex-wrap"
            >
              <StatusBadge status={run.status} finding={run.finding} />
              <span className="min-w-0 grow">
                <span className="block font-medium">
                  <CutName name={runTitle(run)} />
                </span>
                <span className="line-clamp-2 text-sm text-muted">{words}</span>
              </span>
              <span className="shrink-0 text-sm text-faint">{formatAgo(run.updatedAt, now)}</span>
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** Shows current training live; renders nothing if there is none. */
function AtWork() {
  const atWork = atWorkOf(useRuns())
  const { byMetric } = useSeries({
    runIds: atWork.map(({ run }) => run.id),
    metrics: ['reward'],
    maxPoints: 120,
  })
  if (atWork.length === 0) return null
  return (
    <Panel title="Under way" isFlush>
      <ul className="divide-y divide-line">
        {atWork.map(({ run, worker }) => (
          <li key={run.id}>
            <LivingRun run={run} worker={worker} rewards={meansOf(byMetric, 'reward', run.id)} />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface LivingRunProps {
  readonly run: RunEntry
  readonly worker: WorkerView
  /** Rewards of its steps, downsampled. */
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
          <span className="min-w-0 font-medium">
            <CutName name={runTitle(run)} />
          </span>
          <span className="shrink-0 text-sm text-muted">
            {worker.isSilent ? 'is not responding' : phaseWords(run.phase, worker)}
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

function DeviceHealth() {
  const load = useLoad()
  const { data: info } = useAnswer('system.info', undefined)
  const checks = useDeviceChecks()
  return (
    <Panel
      title="This machine"
      actions={
        <a href={link('/settings/devices')} className="px-2 text-sm text-accent-ink hover:underline">
          What runs where
        </a>
      }
    >
      <p className="truncate" title={info?.cpu.model}>
        {info?.cpu.model ?? ' '}
      </p>
      <div className="mt-2 flex flex-wrap gap-1">
        {info?.devices
          .filter(({ available }) => available)
          .map(({ kind }) => (
            <DeviceBadge key={kind} kind={kind} check={checks?.[kind] ?? null} />
          ))}
      </div>
      {load !== null && (
        <dl className="mt-3 grid grid-cols-[64px_minmax(0,1fr)_max-content] items-center gap-x-3 gap-y-1.5 text-sm tabular-nums">
          <Meter name="CPU" share={load.cpuShare} value={formatShare(load.cpuShare)} />
          <Meter
            name="Memory"
            share={load.memory.usedBytes / load.memory.totalBytes}
            value={`${formatBytes(load.memory.usedBytes)} of ${formatBytes(load.memory.totalBytes)}`}
          />
          <dt className="text-muted">Disk</dt>
          <dd className="col-span-2 text-right">
            {formatBytes(load.disk.turnwiseBytes)} used · {formatBytes(load.disk.freeBytes)} free
          </dd>
        </dl>
      )}
    </Panel>
  )
}

/** Badge of a device. Availability alone is not enough: it must compute correctly. `check`: null if never run. */
function DeviceBadge({ kind, check }: { kind: DeviceKind; check: DeviceCheck | null }) {
  const title = deviceTitles[kind]
  if (check === null) return <Badge tone={kind === 'cpu' ? 'good' : 'plain'}>{unchecked(kind)}</Badge>
  return isSound(check) ? <Badge tone="good">{title} passed</Badge> : <Badge tone="bad">{title} failed</Badge>
}

const unchecked = (kind: DeviceKind): string =>
  kind === 'cpu' ? 'CPU ready' : `${deviceTitles[kind]} not checked`

const Meter = ({ name, share, value }: { name: string; share: number; value: string }) => (
  <>
    <dt className="text-muted">{name}</dt>
    <dd className="contents">
      <Progress label={name} value={share} />
      <span className="text-right">{value}</span>
    </dd>
  </>
)

/** Eval rewards of the sample trained with seed 1: an expectation, not a result. */
const expected = [0.316, 0.34, 0.41, 0.52, 0.63, 0.71, 0.77, 0.81, 0.845, 0.86, 0.87, 0.877]

function FirstRunCard() {
  const { start, isStarting } = useSampleRun()
  const { chooseAndAdd } = useAddFile()
  return (
    <section className="mx-auto mt-[14vh] flex w-110 max-w-full flex-col gap-4 rounded border border-line bg-bg p-6">
      <h2 className="text-xl font-semibold text-balance">Train a small model now</h2>
      <p className="text-muted text-pretty">
        About a minute, no internet. The task: short exercises such as “Please add 42 and 45” or “Sort 8 0 5
        7”, to be answered with the bare result. A small language model learns it; you watch its reward rise.
      </p>
      <ExpectedCurve />
      <Button variant="primary" disabled={isStarting} onClick={start} className="h-9 w-full text-lg">
        {isStarting ? 'Starting' : 'Start the first run'}
      </Button>
      <p className="text-center text-muted">
        or drop a data set anywhere, or{' '}
        <button type="button" onClick={chooseAndAdd} className="text-accent-ink underline underline-offset-2">
          choose a file
        </button>
      </p>
    </section>
  )
}

const [width, height] = [398, 96]

function ExpectedCurve() {
  const x = (i: number) => 1 + (i * (width - 2)) / (expected.length - 1)
  const y = (value: number) => height - 4 - value * (height - 12)
  const line = expected
    .map((value, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`)
    .join('')
  return (
    <figure className="m-0">
      <svg
        viewBox={`0 0 ${String(width)} ${String(height)}`}
        role="img"
        aria-label="Expected reward over the run: from 0.32 to 0.88"
      >
        <path
          d={`${line}L${String(width - 1)} ${String(height)}L1 ${String(height)}Z`}
          fill="var(--accent-soft)"
        />
        <path d={line} fill="none" stroke="var(--accent)" strokeWidth={1.5} strokeDasharray="5 3" />
      </svg>
      <figcaption className="flex justify-between text-xs text-faint tabular-nums">
        <span>reward 0.32 at the start</span>
        <span>about 0.88 after 30 steps</span>
      </figcaption>
    </figure>
  )
}

// Recent failures, in one sentence each.

interface Trouble<Run> {
  readonly run: Run
  readonly words: string
}

type Ended = Pick<RunEntry, 'id' | 'status' | 'error' | 'finding' | 'stderrTail' | 'updatedAt' | 'step'>

const most = 4
/** Age up to which failures are shown, in ms: older ones were seen or do not matter. */
const lookBackMs = 7 * 86_400_000

/** Returns runs of the last week that failed, were interrupted or have a problem in their diagnosis, newest first. */
export const troublesOf = <Run extends Ended>(runs: readonly Run[], now: number): readonly Trouble<Run>[] =>
  runs
    .filter((run) => isTrouble(run) && now - run.updatedAt < lookBackMs)
    .toSorted((a, b) => b.updatedAt - a.updatedAt)
    .slice(0, most)
    .map((run) => ({ run, words: wordsOf(run) }))

const isTrouble = ({ status, finding }: Ended): boolean =>
  status === 'failed' || status === 'interrupted' || finding?.severity === 'problem'

function wordsOf({ status, error, finding, step }: Ended): string {
  if (error !== null) return error.message
  if (finding !== null) return finding.words
  return status === 'interrupted'
    ? `Its process ended after step ${String(step)}. It can be resumed.`
    : 'It ended without an error message.'
}
