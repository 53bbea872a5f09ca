/** Finds where a run's reward broke down, if it did, and what else changed there; shared by several rules. */
import { errorBetween, levelOf, surely, rewardScaleOf, spanOf } from './rewardScale.ts'
import { type DiagnosedRun, type Measured, seriesOf, averageOf, totalOf } from './diagnosedRun.ts'

/** Steps that have to agree: a fall that lasts is no bad batch. */
const lasting = 5
/** Share of what was gained above the worst reward: a policy that lost more than this is not merely noisy. */
const lost = 0.5
/** Share of the reward scale: batches may differ by anything less. */
const worthAFall = 0.1
export interface Fall {
  /** The last step before it. */
  readonly step: number
  readonly before: readonly Measured[]
  readonly after: readonly Measured[]
}

/** Returns where the reward broke down permanently; null if it did not. */
export const fallOf = (run: DiagnosedRun): Fall | null => deepFallOf(run) ?? breakOf(run)

/** The greatest fall of the reward that lasted to the end; null where it kept at least half of its best level. */
function deepFallOf(run: DiagnosedRun): Fall | null {
  const rewards = seriesOf(run, 'reward')
  const scale = rewardScaleOf(run)
  const end = peakOf(rewards.slice(-lasting))?.value ?? 0
  let rest = totalOf(rewards.slice(-lasting))
  /** Depth of the fall after a step; called from the end on, so that what follows is added up once. */
  const depthAt = (i: number): number => {
    const behind = rewards.length - 1 - i
    const before = levelOf(run, rewards.slice(Math.max(0, i + 1 - lasting), i + 1))
    const after = { mean: rest / behind, prompts: run.facts.promptsPerStep * behind }
    const [high, low] = [before.mean, after.mean]
    rest += rewards[i]?.value ?? 0
    const isDeep = Math.max(low, end) - scale.low < (1 - lost) * (high - scale.low)
    const chance = surely * errorBetween(scale, before, after)
    return isDeep && high - low > Math.max(chance, worthAFall * spanOf(scale)) ? high - low : 0
  }
  let [deepest, at] = [0, -1]
  for (let i = rewards.length - 1 - lasting; i >= 0; i--) {
    const depth = depthAt(i)
    if (depth > deepest) [deepest, at] = [depth, i]
  }
  return at < 0 ? null : fallAfter(rewards, rewards[at]?.step ?? 0)
}

/**
 * The step after which the policy became less sure by `exploded` nats within a few steps, where it has not earned since
 * what it earned until then. What is left of such a policy often finds some answer that earns a part of the reward, so
 * the fall need not be deep; and as long as it is another one than before, it was not chance.
 */
function breakOf(run: DiagnosedRun): Fall | null {
  const step = calmUntil(uncertaintiesOf(run).series)
  if (step === null) return null
  const fall = fallAfter(seriesOf(run, 'reward'), step)
  const last = fall.after.slice(-lasting)
  if (fall.before.length === 0 || last.length < lasting) return null
  const [before, after] = [levelOf(run, fall.before), levelOf(run, last)]
  const scale = rewardScaleOf(run)
  const uncertainty = uncertaintyOf(run, fall.step)
  const isOther = isKlAbove(run, klBound) || (uncertainty !== null && hasTurned(uncertainty))
  const chance = isOther ? 0 : surely * errorBetween(scale, before, after)
  return before.mean - after.mean > Math.max(chance, worthAFall * spanOf(scale)) ? fall : null
}

/** The last step before uncertainty rose by `exploded` nats above a level it had shortly before; null where it did not. */
function calmUntil(uncertain: readonly Measured[]): number | null {
  const levels = uncertain.map((_, i) => averageOf(uncertain.slice(Math.max(0, i + 1 - lasting), i + 1)))
  const calmBefore = (i: number) => Math.min(...levels.slice(Math.max(0, i - 2 * lasting), i))
  const at = uncertain.findIndex(({ value }, i) => value - calmBefore(i) > exploded)
  const calm = uncertain.slice(0, at).findLast(({ value }) => value - calmBefore(at) < exploded / 2)
  return at < 0 ? null : (calm?.step ?? 0)
}

const fallAfter = (rewards: readonly Measured[], step: number): Fall => ({
  step,
  before: rewards.filter((each) => each.step <= step).slice(-lasting),
  after: rewards.filter((each) => each.step > step),
})

export interface Uncertainty {
  readonly name: 'entropy' | 'surprisal'
  readonly start: readonly Measured[]
  readonly end: readonly Measured[]
}

/** The policy's entropy, or its estimate from the sampled tokens if it was not measured. */
export function uncertaintiesOf(run: DiagnosedRun): {
  readonly name: Uncertainty['name']
  readonly series: readonly Measured[]
} {
  const exact = seriesOf(run, 'entropy')
  return exact.length > 0
    ? { name: 'entropy', series: exact }
    : { name: 'surprisal', series: seriesOf(run, 'surprisal') }
}

/** The policy's uncertainty in the first and the last steps; null if there are too few. */
export function uncertaintyOf(run: DiagnosedRun, before: number | null = null): Uncertainty | null {
  const { name, series } = uncertaintiesOf(run)
  const early = before === null ? series.slice(0, -lasting) : series.filter(({ step }) => step <= before)
  const [start, end] = [early.slice(0, lasting), series.slice(-lasting)]
  return start.length === 0 || end.length < lasting ? null : { name, start, end }
}

/**
 * Nats. At 2 more a token is chosen among e² ≈ 7 times as many as before, whatever the vocabulary; a policy that learns
 * becomes surer, and one with a bonus on entropy gains tenths.
 */
export const exploded = 2

/**
 * Nats per token. Above the first a policy hardly says what the reference would; above the second nothing is left of the
 * model, whatever else is known.
 */
export const klBound = 3
const hopelessKl = 10

export const riseOf = ({ start, end }: Uncertainty): number => averageOf(end) - averageOf(start)

/** A tenth of the uncertainty at the start: the policy says one thing only. */
const certain = 0.1

/** Far more or far less certain than at the start. */
export const hasTurned = (uncertainty: Uncertainty): boolean =>
  riseOf(uncertainty) > exploded || averageOf(uncertainty.end) < certain * averageOf(uncertainty.start)

/** KL of the last steps: single ones are estimated badly. */
export const lastKl = (run: DiagnosedRun): readonly Measured[] => seriesOf(run, 'kl').slice(-lasting)

/** Returns true if the KL is above the bound in every one of the last steps. */
function isKlAbove(run: DiagnosedRun, bound: number): boolean {
  const last = lastKl(run)
  return last.length === lasting && last.every(({ value }) => value > bound)
}

export const isKlHopeless = (run: DiagnosedRun): boolean => isKlAbove(run, hopelessKl)

/** The largest of a stretch; null of nothing. */
export const peakOf = (series: readonly Measured[]): Measured | null =>
  series.reduce<Measured | null>((top, each) => (top === null || each.value > top.value ? each : top), null)

/** Learning has stopped: every gradient in the interval is 0. */
export const isStill = (series: readonly Measured[]): boolean =>
  series.length >= lasting && totalOf(series) === 0
