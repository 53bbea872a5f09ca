import type { Evidence, Finding } from '#shared/diagnosis.ts'
import type { MetricName } from '#shared/metrics.ts'
import { type DiagnosedRun, pointsOf, stepsOf } from '../diagnosedRun.ts'
import { restartSlower } from '../rule.ts'

/** Those that are numbers as long as training is sound. */
const vital: readonly MetricName[] = [
  'loss',
  'policy_loss',
  'value_loss',
  'grad_norm',
  'reward',
  'entropy',
  'surprisal',
  'kl',
]

/** Numbers overflowed, or the run ended because they would have. */
export function divergence(run: DiagnosedRun): Finding[] {
  const broken = vital.flatMap((name): Evidence[] => {
    const missing = pointsOf(run, name).filter(({ value }) => value === null)
    const [first, last] = [missing[0], missing.at(-1)]
    return first && last ? [{ of: name, value: null, fromStep: first.step, toStep: last.step }] : []
  })
  const next = stepsOf(run).last + 1
  const hasEnded = run.failure?.code === 'run/diverged'
  if (broken.length === 0 && !hasEnded) return []
  const facts =
    broken.length > 0 ? broken : [{ of: 'loss or gradient', value: null, fromStep: next, toStep: next }]
  const begin = facts.reduce((step, { fromStep }) => Math.min(step, fromStep), Infinity)
  return [
    {
      id: 'diverged',
      severity: 'problem',
      words: `Numbers broke down at step ${begin}: ${facts.map(({ of }) => of).join(', ')} ${facts.length === 1 ? 'is' : 'are'} no longer finite. What was trained from there on is of no use.`,
      evidence: facts,
      proposals: [restartSlower(run, begin - 1)],
    },
  ]
}
