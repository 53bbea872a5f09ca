/** Warnings about settings of algorithms, rewards and environments that are in range but probably not intended. */
import { judgeDoubts, judgeFunction } from '#shared/config/judge.ts'
import { unwise } from '#shared/config/problems.ts'
import type { Problem } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { distillation, unreadSettings } from '../algorithms/distillation.ts'
import type { Doubt } from '../environments/common.ts'
import { builtInRewards } from '../environments/registry.ts'
import { builtInEnvironments } from '../environments/tasks/registry.ts'

export const pluginWarnings = (config: RunConfig): Problem[] => [
  ...algorithmWarnings(config),
  ...unreadWarnings(config),
  ...rewardWarnings(config),
  ...environmentWarnings(config),
]

interface Usual {
  readonly above?: number
  readonly below?: number
  readonly because: string
}

/** Usual ranges by name: the same name means the same in every algorithm. */
const usual: Readonly<Record<string, Usual>> = {
  klCoefficient: {
    above: 1,
    because: 'the divergence from the reference outweighs rewards; 0 to 0.1 is usual',
  },
  entropyCoefficient: {
    above: 0.1,
    because: 'the entropy bonus outweighs rewards and turns the policy into noise; 0 to 0.01 is usual',
  },
  clipCoefficient: { above: 10, because: 'ratios will hardly ever be clipped; 0.1 to 0.4 is usual' },
  ratioLimit: { above: 100, because: 'ratios will hardly ever reach the limit; 2 to 10 is usual' },
  valueClipCoefficient: { above: 100, because: 'values will hardly ever be clipped' },
  valueCoefficient: { above: 10, because: 'the loss of the critic outweighs that of the policy' },
  klClamp: { above: 1000, because: 'tokens will hardly ever be dropped from the KL term' },
  offPolicyThreshold: { above: 100, because: 'trajectories will hardly ever be left out' },
  advantageClipRange: {
    below: 0.1,
    above: 1000,
    because: 'most advantages are between 0.1 and 3, so it limits nearly all of them, or none',
  },
  rewardClipRange: {
    below: 0.01,
    above: 1000,
    because: 'rewards of a typical size are either all clipped, or never',
  },
  advantageFilterEpsilon: {
    above: 1,
    because: 'most advantages count as zero, so there is little to learn from',
  },
  discount: {
    below: 0.5,
    because: 'a reward hardly counts for actions a few turns or tokens before it; 0.9 to 1 is usual',
  },
  gaeLambda: {
    below: 0.5,
    because: 'advantages depend more on the critic than on rewards',
  },
  refillRounds: { above: 50, because: 'a step may generate that many times as many completions' },
  overlongPenalty: { above: 100, because: 'the length penalty outweighs the reward' },
  positiveTemperature: { above: 100, because: 'tokens stop learning as soon as their ratio moves from 1' },
  negativeTemperature: { above: 100, because: 'tokens stop learning as soon as their ratio moves from 1' },
  beta: { above: 10, below: 1e-4, because: 'the policy hardly learns from preferences; 0.01 to 1 is usual' },
  targetMargin: { above: 100, because: 'no pair reaches the margin, so all pull alike; 0.5 to 2 is usual' },
  desirableWeight: { above: 100, because: 'bad answers hardly count in comparison; 0.5 to 2 is usual' },
  undesirableWeight: { above: 100, because: 'good answers hardly count in comparison; 0.5 to 2 is usual' },
  nllAlpha: { above: 100, because: 'the likelihood of the chosen answers outweighs the preferences' },
}

function algorithmWarnings({ algorithm: { settings }, rollout }: RunConfig): Problem[] {
  const unusual = Object.entries(settings).flatMap(([name, value]) => {
    const { above = Infinity, below = -Infinity, because = '' } = usual[name] ?? {}
    const number = Array.isArray(value) ? Number(value[1]) : value
    const isUnusual = typeof number === 'number' && (number > above || number < below)
    return isUnusual ? [unwise(`algorithm.settings.${name}`, `${JSON.stringify(value)}; ${because}.`)] : []
  })
  const buffer = settings['overlongBuffer']
  const isAllPenalized = typeof buffer === 'number' && buffer >= rollout.maxNewTokens
  return [
    ...unusual,
    ...(isAllPenalized
      ? [
          unwise(
            'algorithm.settings.overlongBuffer',
            `${buffer}, and a completion has at most ${rollout.maxNewTokens} tokens (\`rollout.maxNewTokens\`): every token costs reward.`,
          ),
        ]
      : []),
  ]
}

function unreadWarnings({ algorithm: { id, settings } }: RunConfig): Problem[] {
  const unread = id === distillation.id ? unreadSettings(settings) : []
  return unread.map(([name, reader]) =>
    unwise(
      `algorithm.settings.${name}`,
      `${JSON.stringify(settings[name])}, which has no effect: only \`${reader}\` reads it.`,
    ),
  )
}

const rewardWarnings = ({ rewards }: RunConfig): Problem[] =>
  rewards.flatMap(({ function: id, settings }, i) => {
    if (id === judgeFunction) return judgeDoubts(settings, `rewards[${i}].settings`)
    const found = builtInRewards.find((reward) => reward.id === id)
    return doubtsAt(`rewards[${i}].settings`, found?.doubts(settings))
  })

/** A usual number of turns in an episode. */
const manyTurns = 1000
const highBonus = 10

function environmentWarnings({ environment }: RunConfig): Problem[] {
  if (environment === null) return []
  const { function: id, settings, maxTurns, formatBonus } = environment
  const found = builtInEnvironments.find((each) => each.id === id)
  return [
    ...doubtsAt('environment.settings', found?.doubts(settings)),
    ...(maxTurns !== null && maxTurns > manyTurns
      ? [unwise('environment.maxTurns', `${maxTurns}; an episode generates that many turns.`)]
      : []),
    ...(Math.abs(formatBonus) > highBonus
      ? [
          unwise(
            'environment.formatBonus',
            `${formatBonus}; a right answer, which usually earns 1, hardly counts in comparison.`,
          ),
        ]
      : []),
  ]
}

const doubtsAt = (path: string, doubts: readonly Doubt[] = []): Problem[] =>
  doubts.map(({ setting, message }) => unwise(`${path}.${setting}`, message))
