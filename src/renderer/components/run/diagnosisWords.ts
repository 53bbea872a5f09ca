/** What was looked at and that all is well, in words. */
import type { Diagnosis } from '#shared/diagnosis.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { learningKinds } from './runFacts.ts'

export const stepsWords = (from: number, to: number): string =>
  from === to ? `step ${String(from)}` : `steps ${String(from)}–${String(to)}`

export function healthyWords({
  stage,
  firstStep,
  steps,
}: Pick<Diagnosis, 'stage' | 'firstStep' | 'steps'>): string {
  if (steps === 0) return 'No step has ended yet, so there is nothing to judge.'
  const where = stage === null ? '' : ` of stage ${String(stage + 1)}`
  return `Nothing looks wrong in ${stepsWords(firstStep, firstStep + steps - 1)}${where}.`
}

const rewardChecks =
  'Looked at: zero-variance groups, rewards that never move, truncated completions, answers in a form the reward cannot read, entropy, KL from the reference, clip fraction, train–inference logprob mismatch, and signs of reward hacking.'
const answerChecks = 'Looked at: numbers that run away, and losses that are no numbers.'

/** Which signs there were to see. */
export const lookedAt = (config: Pick<RunConfig, 'algorithm' | 'stages'> | null): string =>
  config === null || learningKinds(config).includes('rewards') ? rewardChecks : answerChecks
