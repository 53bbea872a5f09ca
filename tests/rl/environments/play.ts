/** An episode played by a script: what the environment showed and gave. */
import type { Environment, EnvironmentAnswer, EnvironmentTurn } from '#rl/rollout/environment.ts'

export interface Played {
  readonly observations: readonly string[]
  readonly rewards: readonly (number | null)[]
  readonly terminated: boolean
  readonly last: EnvironmentTurn
}

export interface Script {
  readonly actions: readonly (string | ((observation: string, state: unknown) => string))[]
  readonly row?: Readonly<Record<string, unknown>>
  readonly seed?: number
}

export async function play(
  environment: Environment,
  { actions, row = {}, seed = 1 }: Script,
): Promise<Played> {
  let turn = turnOf((await environment.reset([{ row, seed }]))[0])
  const observations = [textOf(turn)]
  const rewards: (number | null)[] = []
  for (const [k, action] of actions.entries()) {
    const text = typeof action === 'string' ? action : action(observations.at(-1)!, turn.state)
    const answers = await environment.step([{ row, seed: seed + k + 1, state: turn.state, action: text }])
    turn = turnOf(answers[0])
    rewards.push(turn.reward)
    if (turn.observation !== null) observations.push(textOf(turn))
  }
  return { observations, rewards, terminated: turn.terminated, last: turn }
}

const textOf = ({ observation }: EnvironmentTurn): string =>
  typeof observation === 'string' ? observation : JSON.stringify(observation)

function turnOf(answer: EnvironmentAnswer | undefined): EnvironmentTurn {
  if (answer === undefined || 'failure' in answer) throw new Error(answer?.failure.message ?? 'no answer')
  return answer
}
