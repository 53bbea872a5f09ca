import { useMemo } from 'react'
import { formatFixed, formatNumber, plural } from '#renderer/client/format.ts'
import { useRecords } from '#renderer/features/compare/useCompared.ts'
import { link } from '#renderer/client/route.ts'
import { readConfig, useDataNames } from '#renderer/parts/useRun.ts'
import { useRunStyles, type RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Panel } from '#renderer/kit/Page.tsx'
import { Tooltip } from '#renderer/kit/Tooltip.tsx'
import type { RunConfig } from '#shared/runConfig.ts'
import { CutName } from '#renderer/kit/CutName.tsx'
import { EvalReward } from '#renderer/parts/EvalReward.tsx'
import { dataName, rewardWords } from '#renderer/parts/runFacts.ts'

/** Largest number of runs whose settings are read, newest first. */
const maxRuns = 60

/** Shows the best eval reward for each task, among all runs that have one. */
export function BestPerTask({ runs }: { runs: readonly RunEntry[] }) {
  const tasks = useTasks(runs)
  if (tasks.length === 0) return null
  return (
    <Panel title="Best eval reward of each task" isFlush>
      <ul className="divide-y divide-line">
        {tasks.map((task) => (
          <TaskRow key={task.key} task={task} />
        ))}
      </ul>
    </Panel>
  )
}

function useTasks(runs: readonly RunEntry[]): readonly Task<RunEntry>[] {
  const measured = useMemo(
    () => runs.filter(({ rewardAfter }) => rewardAfter !== null).slice(0, maxRuns),
    [runs],
  )
  const key = measured.map(({ id }) => id).join()
  const ids = useMemo(() => key.split(',').filter(Boolean), [key])
  const records = useRecords(ids)
  const names = useDataNames()
  return useMemo(() => {
    const configs = [...records].flatMap(([id, { config }]) => {
      const read = readConfig(config)
      return read === null ? [] : [[id, read] as const]
    })
    return tasksOf(measured, new Map(configs), names)
  }, [measured, records, names])
}

function TaskRow({ task }: { task: Task<RunEntry> }) {
  const { data, rewards, runs } = task
  const [best] = runs
  if (best === undefined) return null
  const { run } = best
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_minmax(0,1.4fr)_minmax(96px,max-content)] items-center gap-x-5 gap-y-1 px-3 py-2.5 phone:grid-cols-[minmax(0,1fr)_max-content]">
      <div className="min-w-0">
        <p className="truncate font-medium" title={data}>
          {data}
        </p>
        <p className="truncate text-sm text-muted" title={rewards}>
          {rewards} · {plural(runs.length, 'run')}
        </p>
      </div>
      <div className="phone:order-last phone:col-span-2">
        <Strip task={task} />
      </div>
      <div className="min-w-0 text-right">
        <p className="font-mono font-medium tabular-nums">
          <EvalReward run={run} />
        </p>
        <a
          href={link(`/runs/${run.id}/overview`)}
          className="ml-auto block w-fit max-w-40 text-sm text-accent-ink hover:underline"
        >
          <CutName name={runTitle(run)} />
        </a>
      </div>
    </li>
  )
}

/** Shows every run of the task as a dot on the task's own scale, and the best reward so far. */
function Strip({ task: { runs, range } }: { task: Task<RunEntry> }) {
  const styleOf = useRunStyles()
  const [low, high] = range
  const at = (value: number) => `${String((100 * (value - low)) / (high - low || 1))}%`
  const [best] = runs
  const before = best?.run.rewardBefore ?? null
  return (
    <div className="flex items-center gap-2 text-xs text-faint tabular-nums">
      <span>{formatNumber(low)}</span>
      <div className="relative h-6 min-w-0 grow">
        <span aria-hidden className="absolute inset-x-0 top-1/2 h-px bg-line-strong" />
        {best !== undefined && before !== null && (
          <span
            aria-hidden
            className="absolute top-1/2 h-1 -translate-y-1/2 rounded-full opacity-40"
            style={{
              left: at(Math.min(before, best.reward)),
              right: `calc(100% - ${at(Math.max(before, best.reward))})`,
              background: styleOf(best.run.id).color,
            }}
          />
        )}
        {runs.toReversed().map(({ run, reward }) => (
          <Tooltip key={run.id} text={`${runTitle(run)}: ${formatFixed(reward)}`}>
            <a
              href={link(`/runs/${run.id}/overview`)}
              aria-label={`${runTitle(run)}, eval reward ${formatFixed(reward)}`}
              className="absolute top-1/2 inline-flex size-6 -translate-1/2 items-center justify-center rounded-full"
              style={{ left: at(reward) }}
            >
              <span
                className="block rounded-full border-2 bg-bg"
                style={{
                  width: run === best?.run ? 11 : 8,
                  height: run === best?.run ? 11 : 8,
                  borderColor: styleOf(run.id).color,
                  background: run === best?.run ? styleOf(run.id).color : undefined,
                }}
              />
            </a>
          </Tooltip>
        ))}
      </div>
      <span>{formatNumber(high)}</span>
    </div>
  )
}

// Eval rewards by task: values of different rows or rewards are never compared.

type MeasuredRun = Pick<RunEntry, 'id' | 'createdAt' | 'rewardBefore' | 'rewardAfter'>

interface TaskRun<Run extends MeasuredRun> {
  readonly run: Run
  readonly reward: number
}

interface Task<Run extends MeasuredRun> {
  readonly key: string
  /** Source of the validation rows. */
  readonly data: string
  readonly rewards: string
  /** Best first. */
  readonly runs: readonly TaskRun<Run>[]
  /** Covers all rewards, those before training too; includes 0 and 1 if possible. */
  readonly range: readonly [low: number, high: number]
}

type TaskConfig = Pick<RunConfig, 'data' | 'rewards' | 'environment'>

/** Groups runs by task, the newest run's first. Runs without a measurement or with unknown settings are left out. */
export function tasksOf<Run extends MeasuredRun>(
  runs: readonly Run[],
  configs: ReadonlyMap<string, TaskConfig>,
  dataNames: ReadonlyMap<string, string>,
): readonly Task<Run>[] {
  const groups = Map.groupBy(
    runs.flatMap((run) => {
      const config = configs.get(run.id)
      const { rewardAfter: reward } = run
      return config === undefined || reward === null ? [] : [{ run, reward, config }]
    }),
    ({ config }) => keyOf(config),
  )
  return [...groups]
    .map(([key, members]) => taskOf(key, members, dataNames))
    .sort((a, b) => newest(b) - newest(a))
}

const newest = ({ runs }: Task<MeasuredRun>): number => Math.max(...runs.map(({ run }) => run.createdAt))

/** Identifies a task: the same rows, scored by the same rewards with the same weights and settings. */
const keyOf = ({ data: { train, heldOut }, rewards, environment }: TaskConfig): string =>
  JSON.stringify([typeof heldOut === 'string' ? heldOut : [train, heldOut], rewards, environment])

function taskOf<Run extends MeasuredRun>(
  key: string,
  members: readonly (TaskRun<Run> & { readonly config: TaskConfig })[],
  dataNames: ReadonlyMap<string, string>,
): Task<Run> {
  const [first] = members
  const config = first?.config
  const values = members.flatMap(({ run, reward }) => [reward, run.rewardBefore ?? reward])
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const heldOut = config?.data.heldOut
  return {
    key,
    data:
      config === undefined
        ? ''
        : dataName(typeof heldOut === 'string' ? heldOut : config.data.train, dataNames),
    rewards: config === undefined ? '' : (rewardWords(config) ?? ''),
    runs: members.map(({ run, reward }) => ({ run, reward })).sort((a, b) => b.reward - a.reward),
    range: low >= 0 ? [0, Math.max(1, high)] : [low, Math.max(0, high)],
  }
}
