import type { Finding } from '#shared/diagnosis.ts'
import { errorBetween, heldOutLevel, levelOf, surely } from '../chance.ts'
import { type DiagnosedRun, type Measured, seriesOf } from '../diagnosedRun.ts'
import { rewardScaleOf, spanOf } from '../rewardScale.ts'
import { look, lookAtSamples, short } from '../rule.ts'
import { evidence } from '../series.ts'

/** Steps of training that an evaluation is compared with. */
const window = 5
/** Of the reward scale. */
const tooWide = 0.1
/** What is true of the rows is true of both: after a single bad update one evaluation falls behind and the next does not. */
const evaluations = 2

interface Gap {
  readonly around: readonly Measured[]
  readonly size: number
  /** Standard error. */
  readonly error: number
}

/**
 * Compares like with like: the reward of training around an evaluation, and the gap there was at the start. Held-out rows
 * and training prompts are samples of their task, so a gap counts where it is larger than such samples differ by.
 */
export function heldOutGap(run: DiagnosedRun): Finding[] {
  const heldOut = seriesOf(run, 'eval_reward')
  const start = heldOut[0] && gapAt(run, heldOut[0])
  const last = heldOut.slice(1).slice(-evaluations)
  const gaps = last.map((each) => gapAt(run, each)).filter((gap) => gap !== null)
  const now = gaps.at(-1)
  if (!start || now === undefined || gaps.length < evaluations) return []
  const atStart = Math.max(0, start.size)
  const isWide = ({ size, error }: Gap) =>
    size > tooWide * spanOf(rewardScaleOf(run)) && size - atStart > surely * error
  if (!gaps.every(isWide)) return []
  return [
    {
      id: 'held-out-gap',
      severity: 'warning',
      words: `In training the reward is ${short(now.size)} higher than on the validation split: the policy has learned these rows, or a way around the reward that works for them.`,
      evidence: [evidence('reward', now.around), ...last.map((each) => evidence('eval_reward', [each]))],
      proposals: [
        lookAtSamples(
          'Look at the best-scored samples, and make a test case of one that does not deserve it.',
          now.around,
        ),
        look('The eval reward shows which checkpoint was best.', {
          kind: 'checkpoint',
          step: bestOf(heldOut),
        }),
      ],
    },
  ]
}

/** Before the first step the first ones count. Null where too little was trained by then. */
function gapAt(run: DiagnosedRun, heldOut: Measured): Gap | null {
  const rewards = seriesOf(run, 'reward')
  const until = rewards.filter(({ step }) => step <= heldOut.step)
  const around = until.length === 0 ? rewards.slice(0, window) : until.slice(-window)
  if (around.length < window) return null
  const [trained, tested] = [levelOf(run, around), heldOutLevel(run, heldOut)]
  const error = errorBetween(rewardScaleOf(run), trained, tested)
  return { around, size: trained.mean - tested.mean, error }
}

const bestOf = (heldOut: readonly Measured[]): number =>
  heldOut.reduce((best, each) => (each.value > best.value ? each : best)).step
