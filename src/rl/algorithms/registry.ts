/** The list of algorithms. */
import { invalidConfig } from '#shared/errors.ts'
import { cispo } from './cispo.ts'
import { noNeeds, type Algorithm, type BuiltInAlgorithm } from './define.ts'
import { distillation } from './distillation.ts'
import { dpo } from './dpo.ts'
import { grpo } from './grpo.ts'
import { gspo } from './gspo.ts'
import { kto } from './kto.ts'
import { orpo } from './orpo.ts'
import { ppo } from './ppo.ts'
import { reinforce } from './reinforce.ts'
import { reinforcePlusPlus } from './reinforcePlusPlus.ts'
import { remax } from './remax.ts'
import { rloo } from './rloo.ts'
import { sapo } from './sapo.ts'
import { sft } from './sft.ts'
import { simpo } from './simpo.ts'

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
  distillation,
  sft,
  dpo,
  orpo,
  simpo,
  kto,
]

/** Finds an algorithm by the id that a config names. Throws `config/invalid` for an unknown one. */
export type AlgorithmById = (id: string) => Algorithm

/** Finds an algorithm where no user code is loaded; a file stands for a loss without settings. */
export const algorithmById: AlgorithmById = (id) =>
  /\.[cm]?[jt]s$/.test(id) ? unloaded(id) : builtInAlgorithm(id)

/** Returns what people call an algorithm, “GRPO” for grpo; the last part of any other id, such as the file of a loss. */
export const algorithmTitle = (id: string): string =>
  algorithms.find((algorithm) => algorithm.id === id)?.title ?? lastPart(id)

const lastPart = (id: string): string => id.split(/[\\/]/).at(-1) ?? id

/** A stand-in for a user-written loss whose code was not loaded, as when an old run is shown. */
function unloaded(id: string): Algorithm {
  const groupSize = { default: 8, minimum: 1 }
  const missing = (): never => {
    throw new Error(`Expected the code of ${id} to be loaded.`)
  }
  return {
    id,
    title: lastPart(id),
    groupSize,
    settings: {},
    experience: 'rollout',
    description: 'A loss of your own.',
    source: '',
    configure: () => ({
      id,
      groupSize,
      needs: { ...noNeeds, rewards: true },
      acceptance: null,
      experience: 'rollout',
      needsAdvantage: false,
      advantages: missing,
      minibatchLoss: missing,
    }),
  }
}

/** Throws `config/invalid` for an unknown id. */
export function builtInAlgorithm(id: string): BuiltInAlgorithm {
  const known = algorithms.find((algorithm) => algorithm.id === id)
  if (known) return known
  throw invalidConfig(
    `There is no algorithm “${id}”.`,
    `Known algorithms: ${algorithms.map((algorithm) => algorithm.id).join(', ')}.`,
  )
}
