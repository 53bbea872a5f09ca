import type { Finding } from '#shared/diagnosis.ts'
import { errorBetween, heldOutLevel, levelOf, surely, rewardScaleOf, spanOf } from '../rewardScale.ts'
import { type DiagnosedRun, type Measured, seriesOf, evidence } from '../diagnosedRun.ts'
import { look, lookAtSamples, short, change, percent } from '../rule.ts'
import { sampleVariance } from '#rl/algorithms/terms/groups.ts'

/** Steps of training that an evaluation is compared with. */
const window = 5
/** Share of the reward scale. */
const tooWide = 0.1
/**
 * Number of evaluations that must agree: what is true of the rows is true of both, while after a single bad update one
 * evaluation falls behind and the next does not.
 */
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
      words: `In training the reward is ${short(now.size)} higher than on the validation split: the policy has learned these rows, or a way to exploit the reward on them.`,
      evidence: [evidence('reward', now.around), ...last.map((each) => evidence('eval_reward', [each]))],
      proposals: [
        lookAtSamples(
          'Inspect the best-scored samples, and turn one that does not deserve its score into a test.',
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

/**
 * Returns the gap at an evaluation. Before the first step the first training rewards count. Null where too little was
 * trained by then.
 */
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

/** Prompts of either kind, each counted once. */
export const enough = 10
/**
 * Share of the likeness between prompts of one kind: another share of the same exercises is above it, another task
 * below.
 */
const unlike = 0.7

/** Finds held-out prompts that are not worded like those of training: then what is measured is not what is learned. */
export function heldOutTask({ samples, heldOutPrompts }: DiagnosedRun): Finding[] {
  const trained = wordsOfEach(samples.map(({ prompt }) => prompt))
  const heldOut = wordsOfEach(heldOutPrompts)
  if (trained.length < 2 * enough || heldOut.length < enough) return []
  const said = informative([...trained, ...heldOut])
  const alike = alikeness(countsOf(trained, said), countsOf(heldOut, said))
  if (!(alike < unlike) || !(1 - alike > surely * errorOf(trained, heldOut, said))) return []
  const steps = samples.map(({ step }) => step)
  const span = { fromStep: Math.min(...steps), toStep: Math.max(...steps) }
  return [
    {
      id: 'held-out-other-task',
      severity: 'warning',
      words: `The validation rows belong to another task: their prompts’ wording is ${percent(alike)} as similar to the training prompts’ as prompts of one task are to each other. The eval reward does not show how well this run learns.`,
      evidence: [{ of: 'similarity of wording, validation and training prompts', value: alike, ...span }],
      proposals: [change('Choose validation rows of the same task, or a share of the training rows.', {})],
    },
  ]
}

export type Words = readonly string[]

export const wordsOfEach = (prompts: readonly string[]): Words[] => [...new Set(prompts)].map(wordsOf)

/** Returns the words of a prompt, each once; all numbers are one word. */
const wordsOf = (prompt: string): Words => [
  ...new Set(
    prompt
      .toLowerCase()
      .replace(/\d+/g, '0')
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [],
  ),
]

/** Returns the words that some prompts have and others do not: the frame of a template says nothing. */
export function informative(prompts: readonly Words[]): ReadonlySet<string> {
  const counts = Map.groupBy(prompts.flat(), (word) => word)
  return new Set([...counts].filter(([, { length }]) => length < prompts.length).map(([word]) => word))
}

interface Counts {
  /** Number of prompts that contain each word. */
  readonly of: ReadonlyMap<string, number>
  readonly prompts: number
}

export function countsOf(prompts: readonly Words[], said: ReadonlySet<string>): Counts {
  const words = Map.groupBy(prompts.flat(), (word) => word)
  const of = [...words].flatMap(([word, { length }]) => (said.has(word) ? [[word, length] as const] : []))
  return { of: new Map(of), prompts: prompts.length }
}

function without({ of, prompts }: Counts, words: Words): Counts {
  const left = new Set(words)
  return {
    of: new Map([...of].map(([word, count]) => [word, left.has(word) ? count - 1 : count])),
    prompts: prompts - 1,
  }
}

/**
 * Divides the words that two prompts of different kinds share by those that two of the same kind share: about 1 where
 * both are samples of one task, however few they are; NaN where prompts of a kind share no words.
 */
function alikeness(a: Counts, b: Counts): number {
  const shared = [...a.of].reduce((sum, [word, count]) => sum + count * (b.of.get(word) ?? 0), 0)
  return shared / (a.prompts * b.prompts) / Math.sqrt(sharedWithin(a) * sharedWithin(b))
}

/** Number of words that two different prompts share, on average over the pairs. */
const sharedWithin = ({ of, prompts }: Counts): number =>
  [...of.values()].reduce((sum, count) => sum + count * (count - 1), 0) / (prompts * (prompts - 1))

/** Standard error by the jackknife (Efron and Stein 1981): how far it moves when prompts are left out one at a time. */
function errorOf(trained: readonly Words[], heldOut: readonly Words[], said: ReadonlySet<string>): number {
  const [a, b] = [countsOf(trained, said), countsOf(heldOut, said)]
  const variance =
    jackknifeVariance(trained.map((words) => alikeness(without(a, words), b))) +
    jackknifeVariance(heldOut.map((words) => alikeness(a, without(b, words))))
  return Math.sqrt(variance)
}

const jackknifeVariance = (values: readonly number[]): number =>
  ((values.length - 1) ** 2 / values.length) * sampleVariance(values)
