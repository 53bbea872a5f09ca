/**
 * The built-in environments. Reading guide: the tasks are in the files of this folder and in probes/, each made with `defineTask` of `common.ts` and listed here;
 * a task says how an episode begins and what a turn of the policy leads to. Tasks make up their episodes from a seed;
 * columns of a row that bear the right names are taken instead.
 */
import { AppError, invalidConfig } from '#shared/errors.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type {
  Environment,
  EnvironmentAnswer,
  EnvironmentTurn,
  EpisodeStart,
} from '#rl/rollout/environment.ts'
import { faultOf } from '#rl/rewards.ts'
import {
  conditionalTarget,
  constantTarget,
  multiInput,
  constantReward,
  gridNavigation,
} from '../probes/probes.ts'
import { requireSettings, type Doubt } from '../common.ts'
import { arithmetic, countdown } from './numbers.ts'
import type { Task, TaskServices, TaskSettings, TaskStart, TaskWorld } from './common.ts'
import { formatFollowing, letterCounting } from './letters.ts'
import { numberGuessing } from './numberGuessing.ts'
import { search } from './search.ts'
import { ticTacToe } from './ticTacToe.ts'

export interface BuiltInEnvironment {
  readonly id: string
  readonly description: string
  /** Settings with their defaults. */
  readonly settings: TaskSettings
  /** Errors: AppError 'config/invalid'. */
  create(changed: TaskSettings, services: TaskServices): Environment
  doubts(changed: TaskSettings): readonly Doubt[]
}

/** A task whose types of state and settings are known to its own file only. */
const listed = <State, Settings extends TaskSettings>(task: Task<State, Settings>): BuiltInEnvironment => ({
  id: task.id,
  description: task.description,
  settings: task.settings,
  create(changed, services) {
    requireSettings(`environment “${task.id}”`, task.settings, changed)
    return environmentOf(task, task.create({ ...task.settings, ...changed }, services))
  },
  doubts: (changed) => task.doubts?.({ ...task.settings, ...changed }) ?? [],
})

/** Built-in environments, in the order of a picker. */
export const builtInEnvironments: readonly BuiltInEnvironment[] = [
  listed(arithmetic),
  listed(countdown),
  listed(letterCounting),
  listed(formatFollowing),
  listed(numberGuessing),
  listed(ticTacToe),
  listed(search),
  listed(constantTarget),
  listed(conditionalTarget),
  listed(multiInput),
  listed(gridNavigation),
  listed(constantReward),
]

/** The environment called `id`, its defaults replaced by `settings`. Errors: `config/invalid`. */
export function builtInEnvironment(
  id: string,
  settings: TaskSettings = {},
  services: TaskServices = {},
): Environment {
  const found = builtInEnvironments.find((environment) => environment.id === id)
  if (found !== undefined) return found.create(settings, services)
  const known = builtInEnvironments.map((environment) => environment.id).join(', ')
  throw invalidConfig(
    `There is no environment called “${id}”.`,
    `Choose one of: ${known}; or give the path of a .ts or .js file.`,
  )
}

function environmentOf<State>(
  { id, description }: Pick<Task, 'id' | 'description'>,
  world: TaskWorld<State>,
): Environment {
  return {
    id,
    description,
    maxTurns: world.maxTurns,
    reset: (starts) =>
      Promise.all(
        starts.map((start) =>
          guarded(() => ({ ...nothingYet, ...world.reset(withRandom(start)) }) satisfies EnvironmentTurn),
        ),
      ),
    step: (actions) =>
      Promise.all(
        actions.map(({ state, action, ...start }) =>
          guarded(async () => {
            // The state is what this very world answered the turn before.
            const turn = await world.step({ ...withRandom(start), state: state as State, action })
            return { ...nothingYet, state, ...turn }
          }),
        ),
      ),
  }
}

const nothingYet = { observation: null, reward: null, terminated: false } as const

const withRandom = ({ row, seed }: EpisodeStart): TaskStart => ({
  row,
  seed,
  random: new SequentialRandom(randomStream(seed)),
})

/** Runs a step. An error of one episode becomes its answer; one that keeps the world from working at all is thrown. */
async function guarded(work: () => EnvironmentTurn | Promise<EnvironmentTurn>): Promise<EnvironmentAnswer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError && error.code === 'config/invalid') throw error
    return faultOf(error)
  }
}
