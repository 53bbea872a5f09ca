import type { Evidence, Finding, Proposal } from '#shared/diagnosis.ts'
import { errorOf, levelOf, surely } from '../chance.ts'
import { type DiagnosedRun, type Measured, samplesSince, seriesOf } from '../diagnosedRun.ts'
import { placeOn, rewardScaleOf } from '../rewardScale.ts'
import { change, changeSetting, lowerLearningRate, numberSettingOf, percent } from '../rule.ts'
import { averageOf, evidence } from '../series.ts'

const window = 5
const collapsed = 0.1
const tooFewDistinct = 2
const manyAlike = 0.5
/** A policy that is nearly always right has reason to be sure. */
const solved = 0.9

/** The policy says the same again and again before it is good: it has stopped exploring. */
export function entropyCollapse(run: DiagnosedRun): Finding[] {
  const exact = seriesOf(run, 'entropy')
  const [name, series] =
    exact.length > 0 ? (['entropy', exact] as const) : (['surprisal', seriesOf(run, 'surprisal')] as const)
  if (series.length < 2 * window || seriesOf(run, 'reward').length === 0) return []
  const [start, end] = [series.slice(0, window), series.slice(-window)]
  const hasCollapsed = averageOf(end) < collapsed * averageOf(start)
  if (!hasCollapsed || !isSurelyUnsolved(run)) return []
  const alike = sameness(run, end)
  if (alike === null) return []
  return [
    {
      id: 'entropy-collapse',
      severity: 'problem',
      words: `The policy has stopped exploring: its uncertainty is ${percent(averageOf(end) / averageOf(start))} of what it was at the start, and the completions of a prompt are nearly all the same.`,
      evidence: [evidence(name, start), evidence(name, end), alike],
      proposals: proposals(run),
    },
  ]
}

/** Farther below than it would be by chance, with the prompts that the last steps drew. */
function isSurelyUnsolved(run: DiagnosedRun): boolean {
  const scale = rewardScaleOf(run)
  const reward = levelOf(run, seriesOf(run, 'reward').slice(-2 * window))
  return placeOn(scale, reward.mean + surely * errorOf(scale, reward)) < solved
}

/**
 * How alike the completions of a prompt are, where they are: counted in the samples of groups of which several were
 * kept, else taken from the groups whose rewards are equal.
 */
function sameness(run: DiagnosedRun, end: readonly Measured[]): Evidence | null {
  const groups = Map.groupBy(samplesSince(run, end[0]?.step ?? 0), ({ step, row }) => `${step} ${row}`)
  const kept = [...groups.values()].filter(({ length }) => length > 1)
  if (kept.length > 0) {
    const texts = kept.map((group) => new Set(group.map(({ completion }) => completion)))
    const distinct = texts.reduce((sum, { size }) => sum + size, 0) / texts.length
    return distinct < tooFewDistinct ? evidence('distinct completions of a prompt', end, distinct) : null
  }
  const equal = seriesOf(run, 'frac_reward_zero_std').slice(-window)
  return equal.length > 0 && averageOf(equal) > manyAlike ? evidence('frac_reward_zero_std', equal) : null
}

function proposals(run: DiagnosedRun): Proposal[] {
  const { temperature, hasClipPair } = run.facts
  const clip = numberSettingOf(run, 'clipCoefficient')
  const warmer = Number((temperature + 0.2).toFixed(2))
  const raised = hasClipPair && clip !== null ? upperClip(clip) : []
  return [
    lowerLearningRate(run, 3),
    change(`Raise the temperature to ${warmer}.`, { 'rollout.temperature': warmer }),
    ...(numberSettingOf(run, 'entropyCoefficient') === 0
      ? [changeSetting('Add a bonus on entropy.', 'entropyCoefficient', 0.01)]
      : []),
    ...raised,
  ]
}

/** Lets unlikely tokens gain more than likely ones lose: clip-higher of DAPO, arXiv:2503.14476, §3.1. */
function upperClip(clip: number): Proposal[] {
  const bounds = [Number((1 - clip).toFixed(3)), Number((1 + 1.4 * clip).toFixed(3))]
  return [changeSetting(`Let ratios rise to ${bounds[1] ?? 0}.`, 'clipCoefficient', bounds)]
}
