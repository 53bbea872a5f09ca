/**
 * The probes: worlds so small that an algorithm which cannot learn them is broken. Each defines the training, its
 * settings, and the result to be reached. Reading guide: one environment per file, listed in `../tasks/registry.ts`;
 * here is what a probe makes of it; `../../training/probe.ts` runs it. Sizes and budgets follow AgileRL's debugging
 * tasks.
 */
import { usageError } from '#shared/errors.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'

export interface ProbeTraining {
  /** Groups per step, and members of each where the algorithm compares them. */
  readonly promptsPerStep: number
  readonly groupSize: number
  readonly steps: number
  /** Trajectories per update. */
  readonly minibatchSize: number
  readonly epochs: number
  readonly learningRate: number
  readonly temperature: number
  readonly alpha: number
  /** Settings of the algorithm, where it has them. */
  readonly settings?: Readonly<Record<string, number>>
}

export interface Probe {
  readonly name: string
  readonly description: string
  readonly environment: string
  /** Episodes that exist, all of them, as rows of the environment. */
  readonly episodes: readonly DataRow[]
  /** Accuracy that counts; `value`: how far the critic's values are from the reward that is always given. */
  readonly measure: 'sampled' | 'greedy' | 'value'
  /** Value that an accuracy must reach, or that a distance must stay below. */
  readonly threshold: number
  /** Training with algorithms that compare the members of a group. */
  readonly grouped: ProbeTraining
  /** Training with all other algorithms. */
  readonly single: ProbeTraining
}

const digits = [1, 2, 3]
const cells = [0, 1, 2, 3]

const groups: Omit<ProbeTraining, 'steps'> = {
  promptsPerStep: 32,
  groupSize: 8,
  minibatchSize: 32,
  epochs: 2,
  learningRate: 1e-3,
  temperature: 1,
  alpha: 16,
}

const singles: Omit<ProbeTraining, 'steps'> = { ...groups, groupSize: 1 }

export const probes: readonly Probe[] = [
  {
    name: 'constant',
    description: 'One prompt, one right digit.',
    environment: 'probe-constant',
    episodes: [{}],
    measure: 'sampled',
    threshold: 0.95,
    grouped: { ...groups, temperature: 0.5, steps: 16 },
    single: { ...singles, temperature: 0.5, steps: 128 },
  },
  {
    name: 'conditional',
    description: 'The right digit depends on the one shown.',
    environment: 'probe-conditional',
    episodes: digits.map((digit) => ({ digit })),
    measure: 'greedy',
    threshold: 0.9,
    grouped: { ...groups, steps: 16 },
    single: { ...singles, promptsPerStep: 64, minibatchSize: 64, steps: 64 },
  },
  {
    name: 'multi-input',
    description: 'The right digit depends on the sum of the two shown.',
    environment: 'probe-multi-input',
    episodes: digits.flatMap((first) => digits.map((second) => ({ first, second }))),
    measure: 'greedy',
    threshold: 0.9,
    grouped: { ...groups, steps: 48 },
    single: { ...singles, steps: 384 },
  },
  {
    name: 'grid',
    description: 'Several turns: walk to a cell that was shown once.',
    environment: 'probe-grid',
    episodes: cells.flatMap((position) =>
      cells.filter((target) => target !== position).map((target) => ({ position, target })),
    ),
    measure: 'greedy',
    threshold: 0.9,
    grouped: { ...groups, steps: 32 },
    single: { ...singles, epochs: 4, steps: 256, settings: { discount: 0.99, gaeLambda: 0.95 } },
  },
  {
    name: 'value',
    description: 'Every turn is worth 1, and the critic has to know it.',
    environment: 'probe-value',
    episodes: [{}],
    measure: 'value',
    threshold: 0.15,
    grouped: { ...groups, steps: 200, settings: { valueCoefficient: 1 } },
    single: { ...singles, minibatchSize: 8, epochs: 4, steps: 200, settings: { valueCoefficient: 1 } },
  },
]

/** Errors: AppError 'usage/invalid'. */
export function probeByName(name: string): Probe {
  const found = probes.find((probe) => probe.name === name)
  if (found !== undefined) return found
  throw usageError(
    `There is no probe “${name}”.`,
    `Choose one of: ${probes.map((probe) => probe.name).join(', ')}.`,
  )
}
