/** The list of algorithms. */
import { AppError } from '#shared/errors.ts'
import { cispo } from './cispo.ts'
import type { Algorithm } from './define.ts'
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

export const algorithms: readonly Algorithm[] = [
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

/** Throws `config/invalid` for an unknown id. */
export function algorithmById(id: string): Algorithm {
  const known = algorithms.find((algorithm) => algorithm.id === id)
  if (known) return known
  throw new AppError(
    'config/invalid',
    `There is no algorithm “${id}”.`,
    `Known algorithms: ${algorithms.map((algorithm) => algorithm.id).join(', ')}.`,
  )
}
