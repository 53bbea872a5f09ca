import type { Finding } from '#shared/diagnosis.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { evidence, medianOf } from '../series.ts'

/** After so many steps nobody wonders any more. */
const young = 20
const nearZero = 1e-3

/** On fresh trajectories ratios are 1 and advantages of a group add up to 0: the loss is about β·KL, which is about 0. */
export function lossZeroAtStart(run: DiagnosedRun): Finding[] {
  const losses = seriesOf(run, 'loss')
  const gradients = seriesOf(run, 'grad_norm')
  const isYoung = losses.length > 0 && losses.length <= young && seriesOf(run, 'reward').length > 0
  if (!isYoung || !losses.every(({ value }) => Math.abs(value) < nearZero)) return []
  // Where no gradient flows another rule says why.
  if (!gradients.some(({ value }) => value > 0)) return []
  return [
    {
      id: 'loss-zero-at-start',
      severity: 'note',
      words:
        'A loss near 0 is normal here: on fresh completions it is, while the gradient is not. Look at the gradient norm and at the reward.',
      evidence: [evidence('loss', losses), evidence('grad_norm', gradients, medianOf(gradients))],
      proposals: [],
    },
  ]
}
