/** Settings of algorithms, rewards and environments that are in range, but hardly meant: a sentence each. */
import type { RunConfig } from '#shared/runConfig.ts'
import { builtInRewards } from '../environments/registry.ts'
import { builtInEnvironments } from '../environments/tasks/registry.ts'

export const pluginWarnings = (config: RunConfig): string[] => [
  ...algorithmWarnings(config),
  ...rewardWarnings(config),
  ...environmentWarnings(config),
]

interface Doubt {
  readonly above?: number
  readonly below?: number
  readonly because: string
}

/** By name: the same name means the same in every algorithm. */
const doubts: Readonly<Record<string, Doubt>> = {
  klCoefficient: {
    above: 1,
    because: 'the divergence from the reference outweighs rewards; 0 to 0.1 is usual',
  },
  entropyCoefficient: {
    above: 0.1,
    because: 'the entropy bonus outweighs rewards and turns the policy into noise; 0 to 0.01 is usual',
  },
  clipCoefficient: { above: 10, because: 'hardly a ratio is ever clipped; 0.1 to 0.4 is usual' },
  ratioLimit: { above: 100, because: 'hardly a ratio is ever bounded; 2 to 10 is usual' },
  valueClipCoefficient: { above: 100, because: 'hardly a value is ever clipped' },
  valueCoefficient: { above: 10, because: 'the loss of the critic outweighs that of the policy' },
  klClamp: { above: 1000, because: 'hardly a token ever leaves the KL term' },
  offPolicyThreshold: { above: 100, because: 'hardly a trajectory is ever left out' },
  advantageClipRange: {
    ...{ below: 0.1, above: 1000 },
    because: 'most advantages are between 0.1 and 3, so that it limits nearly all of them, or none',
  },
  rewardClipRange: {
    ...{ below: 0.01, above: 1000 },
    because: 'rewards of usual size are all cut to it, or never',
  },
  advantageFilterEpsilon: {
    above: 1,
    because: 'most advantages count as zero, so that little is learned from',
  },
  discount: {
    below: 0.5,
    because: 'a reward hardly counts for what was done a few turns or tokens before it; 0.9 to 1 is usual',
  },
  gaeLambda: { below: 0.5, because: 'advantages follow the critic much more than the rewards that came' },
  refillRounds: { above: 50, because: 'a step may generate as many times as many completions' },
  overlongPenalty: { above: 100, because: 'the length of an answer outweighs what it earns' },
  positiveTemperature: { above: 100, because: 'tokens stop learning as soon as their ratio leaves 1' },
  negativeTemperature: { above: 100, because: 'tokens stop learning as soon as their ratio leaves 1' },
  beta: { above: 10, below: 1e-4, because: 'the policy hardly learns from preferences; 0.01 to 1 is usual' },
  nllAlpha: { above: 100, because: 'the likelihood of the chosen answers outweighs the preferences' },
}

function algorithmWarnings({ algorithm: { settings }, rollout }: RunConfig): string[] {
  const unusual = Object.entries(settings).flatMap(([name, value]) => {
    const { above = Infinity, below = -Infinity, because = '' } = doubts[name] ?? {}
    const number = Array.isArray(value) ? Number(value[1]) : value
    const isUnusual = typeof number === 'number' && (number > above || number < below)
    return isUnusual ? [`algorithm.settings.${name} is ${JSON.stringify(value)}: ${because}.`] : []
  })
  const buffer = settings['overlongBuffer']
  const isAllPenalized = typeof buffer === 'number' && buffer >= rollout.maxNewTokens
  return [
    ...unusual,
    ...(isAllPenalized
      ? [
          `algorithm.settings.overlongBuffer is ${buffer}, and a completion has at most ${rollout.maxNewTokens} tokens (rollout.maxNewTokens): every token costs reward.`,
        ]
      : []),
  ]
}

const rewardWarnings = ({ rewards }: RunConfig): string[] =>
  rewards.flatMap(({ function: id, settings }, i) => {
    const found = builtInRewards.find((reward) => reward.id === id)
    return (found?.doubts(settings) ?? []).map((sentence) => `rewards[${i}].settings.${sentence}`)
  })

/** Of turns an episode may have, so many are usual. */
const manyTurns = 1000
const highBonus = 10

function environmentWarnings({ environment }: RunConfig): string[] {
  if (environment === null) return []
  const { function: id, settings, maxTurns, formatBonus } = environment
  const found = builtInEnvironments.find((each) => each.id === id)
  return [
    ...(found?.doubts(settings) ?? []).map((sentence) => `environment.settings.${sentence}`),
    ...(maxTurns !== null && maxTurns > manyTurns
      ? [`environment.maxTurns is ${maxTurns}: an episode generates as many times.`]
      : []),
    ...(Math.abs(formatBonus) > highBonus
      ? [
          `environment.formatBonus is ${formatBonus}: a right answer, which usually earns 1, hardly counts beside it.`,
        ]
      : []),
  ]
}
