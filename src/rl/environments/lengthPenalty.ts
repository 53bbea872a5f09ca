import { AppError } from '#shared/errors.ts'
import { defineReward } from './common.ts'

/**
 * 0 up to `free` characters, then falling evenly to −1 at `limit`, and −1 beyond. The soft overlong punishment of
 * DAPO (Yu et al. 2025, arXiv:2503.14476, eq. 13), over characters instead of tokens.
 */
export const lengthPenalty = defineReward({
  id: 'length-penalty',
  description: '0 for short completions, falling to −1 for long ones (in characters).',
  settings: { free: 400, limit: 800 },
  create({ free, limit }) {
    if (!(free >= 0 && limit > free)) {
      throw new AppError(
        'config/invalid',
        `The length penalty needs 0 ≤ free < limit, got ${free} and ${limit}.`,
      )
    }
    return ({ completion }) => {
      const excess = ([...completion].length - free) / (limit - free)
      return excess <= 0 ? 0 : -Math.min(1, excess)
    }
  },
})
