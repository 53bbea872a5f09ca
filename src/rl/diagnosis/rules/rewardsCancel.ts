import type { Finding } from '#shared/diagnosis.ts'
import { type DiagnosedRun, type Measured, seriesOf } from '../diagnosedRun.ts'
import { look, short } from '../rule.ts'
import { averageOf, evidence, spreadOf } from '../series.ts'

const window = 10
/** Of what the parts vary by: less is left of them when they are added up only where one takes what the other gives. */
const remainder = 0.05

/** Parts that each tell completions apart, but whose weighted sum does not. */
export function rewardsCancel(run: DiagnosedRun): Finding[] {
  const rewards = seriesOf(run, 'reward').slice(-window)
  const spreads = seriesOf(run, 'reward_std').slice(-window)
  const parts = run.facts.rewards.flatMap(({ name, weight }) => {
    const means = seriesOf(run, `rewards/${name}/mean`).slice(-window)
    const spread = Math.abs(weight) * averageOf(seriesOf(run, `rewards/${name}/std`).slice(-window))
    return spread > 0 ? [{ name, means, weight, spread }] : []
  })
  const within = parts.reduce((sum, { spread }) => sum + spread, 0)
  const across = parts.reduce((sum, { means, weight }) => sum + Math.abs(weight) * spreadOf(means), 0)
  const isSilent = averageOf(spreads) < remainder * within && spreadOf(rewards) < remainder * across
  if (rewards.length < window || parts.length < 2 || !isSilent) return []
  const names = parts.map(({ name }) => `“${name}”`).join(' and ')
  return [
    {
      id: 'rewards-cancel',
      severity: 'problem',
      words: `The rewards ${names} cancel each other: each tells completions apart, but their weighted sum is ${short(averageOf(rewards))} for all of them, so nothing can be learned.`,
      evidence: [evidence('reward_std', spreads), ...parts.map(({ name }) => standardDeviation(run, name))],
      proposals: parts.slice(0, 1).map(({ name }) =>
        look(`Change the sign or the size of a weight, so that ${names} do not undo each other.`, {
          kind: 'reward',
          name,
        }),
      ),
    },
  ]
}

const standardDeviation = (run: DiagnosedRun, name: string) => {
  const series: readonly Measured[] = seriesOf(run, `rewards/${name}/std`).slice(-window)
  return evidence(`rewards/${name}/std`, series)
}
