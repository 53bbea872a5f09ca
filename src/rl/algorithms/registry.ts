/** The list of algorithms. */
import { AppError } from '#shared/errors.ts'
import { cispo } from './cispo.ts'
import { noNeeds, type Algorithm, type BuiltInAlgorithm } from './define.ts'
import { dpo } from './dpo.ts'
import { grpo } from './grpo.ts'
import { gspo } from './gspo.ts'
import { ppo } from './ppo.ts'
import { reinforce } from './reinforce.ts'
import { reinforcePlusPlus } from './reinforcePlusPlus.ts'
import { remax } from './remax.ts'
import { rloo } from './rloo.ts'
import { sapo } from './sapo.ts'
import { sft } from './sft.ts'

export const algorithms: readonly BuiltInAlgorithm[] = [
  grpo,
  gspo,
  cispo,
  sapo,
  reinforce,
  reinforcePlusPlus,
  rloo,
  remax,
  ppo,
  sft,
  dpo,
]

/** Those that people wrote, by the path a config names; known once their code was loaded. */
const written = new Map<string, Algorithm>()

/** Takes the place of what was loaded from there before. */
export function registerWritten(algorithm: Algorithm): void {
  written.set(algorithm.id, algorithm)
}

/** Built in, or written. Throws `config/invalid` for an unknown id. */
export const algorithmById = (id: string): Algorithm =>
  written.get(id) ?? (/\.[cm]?[jt]s$/.test(id) ? unloaded(id) : builtInAlgorithm(id))

/** What is known of a written one whose code was not loaded, as where an old run is looked at. */
function unloaded(id: string): Algorithm {
  const [title = id] = id.split(/[\\/]/).slice(-1)
  const groupSize = { default: 8, minimum: 1 }
  const missing = (): never => {
    throw new Error(`Expected the code of ${id} to be loaded.`)
  }
  return {
    ...{ id, title, groupSize, settings: {}, experience: 'rollout' },
    description: 'A loss of your own.',
    source: '',
    configure: () => ({
      ...{ id, groupSize, needs: noNeeds, acceptance: null, experience: 'rollout' },
      advantages: missing,
      minibatchLoss: missing,
    }),
  }
}

/** Throws `config/invalid` for an unknown id. */
export function builtInAlgorithm(id: string): BuiltInAlgorithm {
  const known = algorithms.find((algorithm) => algorithm.id === id)
  if (known) return known
  throw new AppError(
    'config/invalid',
    `There is no algorithm “${id}”.`,
    `Known algorithms: ${algorithms.map((algorithm) => algorithm.id).join(', ')}.`,
  )
}
