import type { Finding } from '#shared/diagnosis.ts'
import { type DiagnosedRun, type Measured, samplesSince, seriesOf, stepsOf } from '../diagnosedRun.ts'
import { change, look, lookAtSamples, percent } from '../rule.ts'
import { evidence, totalOf } from '../series.ts'

const window = 10
/** Share of the trajectories from which failures make learning pointless. */
const grave = 0.1
const tooManyUnscored = 0.5

/** Reward functions that break, and completions that no function says anything of. */
export function rewardFailures(run: DiagnosedRun): Finding[] {
  const failures = seriesOf(run, 'reward/failures').slice(-window)
  if (run.failure?.code === 'reward/failed') return [ended(run, run.failure.message)]
  return totalOf(failures) > 0 ? [failed(run, failures)] : unscored(run)
}

function ended(run: DiagnosedRun, message: string): Finding {
  const { last } = stepsOf(run)
  return {
    id: 'reward-failures',
    severity: 'problem',
    words: `A reward function failed and ended the run: ${message}`,
    evidence: [{ of: 'failed reward function', value: 1, fromStep: last + 1, toStep: last + 1 }],
    proposals: [
      change('Correct its code, or let a failure leave out that completion.', { rewardFailures: 'null' }),
    ],
  }
}

function failed(run: DiagnosedRun, failures: readonly Measured[]): Finding {
  const share = totalOf(failures) / trajectoriesIn(run, failures)
  const messages = samplesSince(run, failures[0]?.step ?? 0).flatMap((sample) => sample.failures ?? [])
  const said = messages[0] === undefined ? '' : ` One says: ${messages[0]}`
  const name = run.facts.rewards.find((reward) => messages[0]?.includes(reward.name))?.name
  return {
    id: 'reward-failures',
    severity: share > grave ? 'problem' : 'warning',
    words: `Reward functions failed ${totalOf(failures)} times in the last ${failures.length === 1 ? 'step' : `${failures.length} steps`}, ${percent(share)} of the completions.${said}`,
    evidence: [evidence('reward/failures', failures, totalOf(failures))],
    proposals: [
      lookAtSamples('Look at the samples that failed.', failures),
      ...(name === undefined ? [] : [look(`Correct “${name}”.`, { kind: 'reward', name })]),
    ],
  }
}

function unscored(run: DiagnosedRun): Finding[] {
  const missing = seriesOf(run, 'reward/unscored').slice(-window)
  const share = totalOf(missing) / trajectoriesIn(run, missing)
  if (missing.length === 0 || share <= tooManyUnscored) return []
  return [
    {
      id: 'no-reward',
      severity: share > 0.99 ? 'problem' : 'warning',
      words: `No reward function applies to ${percent(share)} of the completions, and what has no reward takes no part in learning.`,
      evidence: [evidence('reward/unscored', missing, totalOf(missing))],
      proposals: [
        lookAtSamples(
          'Look at the samples without a reward; often the column of the expected answer is empty.',
          missing,
        ),
      ],
    },
  ]
}

const trajectoriesIn = ({ facts }: DiagnosedRun, series: readonly Measured[]): number =>
  Math.max(1, facts.promptsPerStep * facts.groupSize * series.length)
