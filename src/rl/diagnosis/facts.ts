/** The few facts of a config that the rules use. */
import { type RunConfig, rewardName } from '#shared/runConfig.ts'
import { parseSettings, takesPair } from '#shared/config/settings.ts'
import type { AlgorithmById } from '../algorithms/registry.ts'

export interface RewardFact {
  /** Name on charts. */
  readonly name: string
  /** Id of a built-in, or path of code. */
  readonly function: string
  readonly weight: number
  /** The regular expression it looks for, where it says so. */
  readonly pattern: string | null
}

export interface RunFacts {
  /** Settings of the algorithm, defaults filled in. */
  readonly settings: Readonly<Record<string, unknown>>
  /** `clipCoefficient` may be two bounds. */
  readonly hasClipPair: boolean
  readonly rewards: readonly RewardFact[]
  readonly hasEnvironment: boolean
  /** Completions without a reward take no part in learning. */
  readonly needsReward: boolean
  /** Most rows of an evaluation; null: all there are. */
  readonly heldOutRows: number | null
  /** Column or text that prompts are made from. */
  readonly promptForm: string
  readonly promptsPerStep: number
  readonly groupSize: number
  readonly temperature: number
  readonly topK: number
  readonly topP: number
  readonly minP: number
  readonly minNewTokens: number
  readonly maxNewTokens: number
  readonly precision: RunConfig['rollout']['precision']
  readonly basePrecision: RunConfig['base']['precision']
  /** Server that generates in place of this machine. */
  readonly server: Pick<NonNullable<RunConfig['rollout']['server']>, 'kind' | 'url'> | null
  /** Steps by which the policy that generates may be older. */
  readonly maxStaleness: number
  /** Steps that the run is to take; null: passes over the data decide. */
  readonly steps: number | null
  readonly learningRate: number
  /** Steps until the learning rate is reached; where the number of steps is unknown, all of a warm-up. */
  readonly warmupSteps: number
  /** Null: gradients are as long as they are. */
  readonly maxGradNorm: number | null
  /** Factor of an adapter's product: α / rank, or α / √rank. */
  readonly adapterScale: number
  readonly rank: number
  /** Divergence is measured from the same policy throughout. */
  readonly isReferenceFixed: boolean
  /** Passes over the trajectories of a step. */
  readonly epochs: number
}

const rewardFacts = (entry: RunConfig['rewards'][number]): RunFacts['rewards'][number] => ({
  name: rewardName(entry),
  function: entry.function,
  weight: entry.weight,
  pattern: patternOf(entry.settings),
})

/**
 * Extracts the facts of a config, in a run of several stages that of one stage. Errors: AppError 'config/invalid' for
 * an unknown algorithm.
 */
export function factsOf(
  {
    adapter,
    algorithm,
    base,
    rollout,
    optimization,
    rewards,
    environment,
    evaluation,
    data,
    reference,
    steps,
  }: RunConfig,
  byId: AlgorithmById,
): RunFacts {
  const known = byId(algorithm.id)
  const { settings, groupSize } = known
  return {
    settings: { ...parseSettings(settings, {}, 'algorithm.settings'), ...algorithm.settings },
    hasClipPair: takesPair(settings['clipCoefficient']),
    rewards: rewards.map(rewardFacts),
    hasEnvironment: environment !== null,
    needsReward: known.configure(algorithm.settings).needs.rewards,
    heldOutRows: evaluation.rows,
    promptForm: promptForm(data.prompt),
    promptsPerStep: rollout.promptsPerStep,
    groupSize: rollout.groupSize ?? groupSize.default,
    temperature: rollout.temperature,
    topK: rollout.topK,
    topP: rollout.topP,
    minP: rollout.minP,
    minNewTokens: rollout.minNewTokens,
    maxNewTokens: rollout.maxNewTokens,
    precision: rollout.precision,
    basePrecision: base.precision,
    server: rollout.server,
    maxStaleness: rollout.maxStaleness,
    learningRate: optimization.learningRate,
    warmupSteps:
      optimization.warmupProportion === 0
        ? 0
        : Math.ceil(optimization.warmupProportion * (steps ?? Infinity)),
    maxGradNorm: optimization.maxGradNorm,
    ...adapterFacts(adapter),
    steps,
    isReferenceFixed: reference.refreshSteps === null && reference.refreshPasses === null,
    epochs: optimization.epochs,
  }
}

const adapterFacts = ({
  alpha,
  rank,
  rsLora,
}: RunConfig['adapter']): Pick<RunFacts, 'adapterScale' | 'rank'> => ({
  adapterScale: alpha / (rsLora ? Math.sqrt(rank) : rank),
  rank,
})

function patternOf({ pattern }: RunConfig['rewards'][number]['settings']): string | null {
  return typeof pattern === 'string' ? pattern : null
}

function promptForm(prompt: RunConfig['data']['prompt']): string {
  if ('column' in prompt) return `{${prompt.column}}`
  if ('template' in prompt) return prompt.template
  return prompt.messages.map(({ content }) => content).join('\n')
}
