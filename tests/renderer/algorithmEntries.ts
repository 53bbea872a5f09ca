/** Algorithms as the host lists them. */
import { algorithms } from '#rl/algorithms/registry.ts'
import type { AlgorithmEntry } from '#renderer/client/runSettings.ts'
import { fieldsOf } from '#shared/config/fields.ts'

export const algorithmEntries: readonly AlgorithmEntry[] = algorithms.map(
  ({ id, title, description, experience, groupSize, settings, ...algorithm }) => ({
    id,
    title,
    description,
    experience,
    groupSize,
    needsRewards: algorithm.configure({}).needs.rewards,
    settings: fieldsOf(settings, 'algorithm.settings'),
  }),
)
