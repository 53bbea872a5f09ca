import type { Finding } from '#shared/diagnosis.ts'
import type { MetricName } from '#shared/metrics.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { look, short } from '../rule.ts'
import { evidence } from '../series.ts'

const enough = 3
/**
 * Losses weigh rewards against a divergence and an entropy of a few nats, and numbers have seven digits: from here on
 * nothing but the reward counts, and differences between rewards begin to be rounded away.
 */
const absurd = 1e4

/** Rewards so large that everything else in the loss is lost beside them. */
export function rewardSize(run: DiagnosedRun): Finding[] {
  const sizes = (name: MetricName) =>
    seriesOf(run, name)
      .map(({ step, value }) => ({ step, value: Math.abs(value) }))
      .filter(({ value }) => value > absurd)
  // An evaluation is many rows, and there is one before the first update.
  const large =
    [sizes('reward'), sizes('reward_std')].find(({ length }) => length >= enough) ?? sizes('eval_reward')
  if (large.length === 0) return []
  const size = large.reduce((top, { value }) => Math.max(top, value), 0)
  const heaviest = run.facts.rewards.toSorted((a, b) => Math.abs(b.weight) - Math.abs(a.weight))[0]
  return [
    {
      id: 'reward-size',
      severity: 'problem',
      words: `Rewards reach ${short(size)}; 0 to 1 is usual. Beside them KL coefficient, entropy bonus and clipping count for nothing, and small differences are rounded away.`,
      evidence: [evidence('reward, size', large, size)],
      proposals:
        heaviest === undefined
          ? []
          : [
              look(
                `Bring “${heaviest.name}” to a scale of 0 to 1, or lower its weight of ${short(heaviest.weight)}.`,
                {
                  kind: 'reward',
                  name: heaviest.name,
                },
              ),
            ],
    },
  ]
}
