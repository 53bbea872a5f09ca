/** The list of algorithms. */
import { AppError } from '#shared/errors.ts'
import { cispo } from './cispo.ts'
import type { Algorithm } from './define.ts'
import { grpo } from './grpo.ts'
import { gspo } from './gspo.ts'
import { reinforce } from './reinforce.ts'

export const algorithms: readonly Algorithm[] = [grpo, gspo, cispo, reinforce]

/** Throws `config/invalid` for an unknown id. */
export function algorithmById(id: string): Algorithm {
  const known = algorithms.find((algorithm) => algorithm.id === id)
  if (known) return known
  throw new AppError(
    'config/invalid',
    `There is no algorithm "${id}".`,
    `Known algorithms: ${algorithms.map((algorithm) => algorithm.id).join(', ')}.`,
  )
}
