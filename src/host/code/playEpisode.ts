/**
 * Plays an episode of an environment with the user's actions. Environments are stateless, so the episode is replayed
 * from the start: the same row, seed and actions always lead to the same turns.
 */
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { randomStream } from '#shared/random.ts'
import { framedObservation, isOver, type Environment } from '#rl/rollout/environment.ts'
import type { EnvironmentAnswer } from '#host/sandbox/answers.ts'
import type { PythonEnvironment } from '#host/python/pythonCode.ts'
import { type CodeOptions, openCode, type UserCode } from './rewardCode.ts'
import type { Sandbox } from '#host/sandbox/sandbox.ts'
import { openBuiltIn, sandboxedEnvironment } from './resolveEnvironment.ts'
import type { RetrieverPlace } from './retrievers.ts'

type Row = Readonly<Record<string, unknown>>

export interface Play {
  readonly environment:
    | { readonly builtIn: string }
    | { readonly source: UserCode; readonly name: string | null; readonly options: CodeOptions }
  readonly settings: Readonly<Record<string, string | number | boolean>>
  readonly row: Row
  readonly seed: number
  /** Actions after the end of the episode are ignored. */
  readonly actions: readonly string[]
  /** Index folder of a built-in environment that searches. */
  readonly place: RetrieverPlace
}

export type PlayedTurn = OutputOf<Api, 'rewards.play'>['turns'][number]

export interface PlayedEpisode {
  /** Maximum turns of an episode, if the run does not set it. */
  readonly maxTurns: number
  /** The first observation, then one entry per action. */
  readonly turns: readonly PlayedTurn[]
}

/** Errors: AppError 'sandbox/failed' for code that does not load, 'python/not-allowed', 'config/invalid' for other code, settings or ids. */
export async function playEpisode(play: Play): Promise<PlayedEpisode> {
  if ('builtIn' in play.environment) {
    const { settings, place } = play
    await using opened = await openBuiltIn(
      { function: play.environment.builtIn, settings, settingsFromRow: {} },
      place,
    )
    return await playWith(builtInWorld(opened.environment, play), play)
  }
  const { source, name, options } = play.environment
  await using code = await openCode(source, options)
  if ('environment' in code) {
    const world = await code.environment(name, play.settings)
    return await playWith(writtenWorld(world, world.maxTurns, play), play)
  }
  const { maxTurns } = sandboxedEnvironment(code, { function: 'played', settings: play.settings })
  return await playWith(writtenWorld(code, maxTurns, play), play)
}

/** An environment that plays one episode at a time. */
interface World {
  readonly maxTurns: number
  reset(seed: number): Promise<Omit<PlayedTurn, 'action'>>
  step(state: unknown, action: string, seed: number): Promise<Omit<PlayedTurn, 'action'>>
}

async function playWith(world: World, { seed, actions }: Play): Promise<PlayedEpisode> {
  const chance = randomStream(seed)
  const seedAt = (position: number) => Math.floor(chance.uniformAt(position) * 0x100000000)
  let last: PlayedTurn = { action: null, ...(await world.reset(seedAt(0))) }
  const turns = [last]
  for (const [k, action] of actions.entries()) {
    if (isOver(last) || last.failure !== null) break
    last = { action, ...(await world.step(last.state, action, seedAt(k + 1))) }
    turns.push(last)
  }
  return { maxTurns: world.maxTurns, turns }
}

/** Opens user code for playing: unlike the environment of learning, it passes on printed lines and places of errors. */
function writtenWorld(
  code: Pick<Sandbox, 'reset' | 'step'> | PythonEnvironment,
  maxTurns: number,
  { row, settings }: Play,
): World {
  const own = { row, settings }
  const turnOf = ([answer]: readonly EnvironmentAnswer[]): Omit<PlayedTurn, 'action'> => {
    if (answer === undefined) throw new Error('Expected an answer, got none.')
    if ('failure' in answer) return { ...nothing, lines: answer.lines, failure: answer.failure }
    const { state, observation, reward, terminated, truncated = false, columns, metrics, lines } = answer
    return { state, observation, reward, terminated, truncated, columns, metrics, lines, failure: null }
  }
  return {
    maxTurns,
    reset: async (seed) => turnOf(await code.reset([{ ...own, seed }])),
    step: async (state, action, seed) => turnOf(await code.step([{ ...own, seed, state, action }])),
  }
}

function builtInWorld(environment: Environment, { row }: Play): World {
  const turnOf = ([answer]: Awaited<ReturnType<Environment['step']>>): Omit<PlayedTurn, 'action'> => {
    if (answer === undefined) throw new Error('Expected an answer, got none.')
    if ('failure' in answer) {
      const { message, line = null, column = null } = answer.failure
      return { ...nothing, failure: { kind: 'exception', message, line, column } }
    }
    const { state, reward, terminated, truncated = false, columns = {}, metrics = {} } = answer
    const observation = answer.observation === null ? null : framedObservation(answer)
    return { state, observation, reward, terminated, truncated, columns, metrics, lines: [], failure: null }
  }
  return {
    maxTurns: environment.maxTurns,
    reset: async (seed) => turnOf(await environment.reset([{ row, seed }])),
    step: async (state, action, seed) => turnOf(await environment.step([{ row, seed, state, action }])),
  }
}

const nothing = {
  observation: null,
  reward: null,
  terminated: false,
  truncated: false,
  state: null,
  columns: {},
  metrics: {},
  lines: [],
  failure: null,
} as const satisfies Omit<PlayedTurn, 'action'>
