import type { Evidence, Finding } from '#shared/diagnosis.ts'
import type { ErrorCode } from '#shared/errors.ts'
import type { MetricName } from '#shared/metrics.ts'
import type { RunFailure } from '#shared/runs.ts'
import { type DiagnosedRun, pointsOf, stepsOf } from '../diagnosedRun.ts'
import { restartSlower, tryTheSelftest } from '../rule.ts'

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

/** Why a run ends before an update is applied. */
const refusals: readonly (ErrorCode | null)[] = ['run/diverged', 'run/unsound']

/** Numbers overflowed, or the run ended because an update with them would have been of no use. */
export function divergence(run: DiagnosedRun): Finding[] {
  const broken = vital.flatMap((name): Evidence[] => {
    const missing = pointsOf(run, name).filter(({ value }) => value === null)
    const [first, last] = [missing[0], missing.at(-1)]
    return first && last ? [{ of: name, value: null, fromStep: first.step, toStep: last.step }] : []
  })
  if (broken.length > 0) return [brokenDown(run, broken)]
  return run.failure !== null && refusals.includes(run.failure.code) ? [refused(run, run.failure)] : []
}

function brokenDown(run: DiagnosedRun, facts: readonly Evidence[]): Finding {
  const begin = facts.reduce((step, { fromStep }) => Math.min(step, fromStep), Infinity)
  return {
    id: 'diverged',
    severity: 'problem',
    words: `Numbers broke down at step ${begin}: ${facts.map(({ of }) => of).join(', ')} ${facts.length === 1 ? 'is' : 'are'} no longer finite. What was trained from there on is of no use.`,
    evidence: facts,
    proposals: [restartSlower(run, begin - 1)],
  }
}

/** The update was not applied: what was trained before is sound. */
function refused(run: DiagnosedRun, { code, message }: RunFailure): Finding {
  const step = stepsOf(run).last + 1
  const isDevice = code === 'run/unsound'
  return {
    id: 'diverged',
    severity: 'problem',
    words: `The run ended at step ${step}, because the numbers of an update could not be right. ${message} What was trained before is sound.`,
    evidence: [{ of: 'numbers of the update', value: null, fromStep: step, toStep: step }],
    proposals: [...(isDevice ? [tryTheSelftest] : []), restartSlower(run, step - 1)],
  }
}
