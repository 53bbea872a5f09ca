/** Eval rewards by what they measure: numbers of different rows or rewards are never set beside each other. */
import type { RunConfig } from '#shared/runConfig.ts'
import { dataName, rewardWords } from '#renderer/features/run/runFacts.ts'

export interface MeasuredRun {
  readonly id: string
  readonly createdAt: number
  readonly rewardBefore: number | null
  readonly rewardAfter: number | null
}

export interface TaskRun<Run extends MeasuredRun> {
  readonly run: Run
  readonly reward: number
}

export interface Task<Run extends MeasuredRun> {
  readonly key: string
  /** Where the rows of the validation split come from. */
  readonly data: string
  readonly rewards: string
  /** The best first. */
  readonly runs: readonly TaskRun<Run>[]
  /** All rewards lie in it, those before training too; 0 and 1 where they can. */
  readonly range: readonly [low: number, high: number]
}

type TaskConfig = Pick<RunConfig, 'data' | 'rewards' | 'environment'>

/** The task with the newest run first. Runs without a measurement or of unknown settings are left out. */
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

/** The same rows, scored by the same rewards with the same weights and settings. */
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
