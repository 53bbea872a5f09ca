/** Finds the Turnwise algorithm that another tool's settings mean. */
import { AppError } from '#shared/errors.ts'
import { toolTitles, type ToolId } from '#shared/tools.ts'
import { asText, entryOf, type Given } from './links.ts'
import { isKnownPairLoss, pairLosses, trlPreferenceLosses } from './specialLinks.ts'

export interface AlgorithmFinding {
  readonly id: string
  /** Names that decided. */
  readonly names: readonly string[]
}

type Finder = (given: Given) => AlgorithmFinding

/** Errors: AppError 'config/invalid' naming a loss or estimator that has no equivalent here. */
export const algorithmOf = (tool: ToolId, given: Given): AlgorithmFinding => finders[tool](given)

function unknown(tool: ToolId, what: string, nearest: string): AppError {
  return new AppError(
    'config/invalid',
    `${toolTitles[tool]}'s ${what} has no equivalent in Turnwise.`,
    `The closest is ${nearest}.`,
  )
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

const trlSigns = {
  sft: [
    'completion_only_loss',
    'assistant_only_loss',
    'packing',
    'packing_strategy',
    'eval_packing',
    'dataset_text_field',
    'chat_template_path',
  ],
  dpo: [
    'loss_weights',
    'label_smoothing',
    'precompute_ref_log_probs',
    'f_divergence_type',
    'ld_alpha',
    'use_weighting',
    'discopop_tau',
  ],
  ppo: [
    'num_ppo_epochs',
    'kl_coef',
    'cliprange',
    'cliprange_value',
    'response_length',
    'missing_eos_penalty',
    'lam',
  ],
  rloo: ['normalize_advantages', 'reward_clip_range'],
} as const

const generatingSigns = ['num_generations', 'max_completion_length', 'loss_type', 'num_iterations', 'epsilon']

const refusedLosses: Readonly<Record<string, string>> = {
  vespo: 'cispo',
  luspo: 'gspo with lossNorm “constant-length”',
}

/** The class is not in its file, so the names that only one class has tell. */
function trlAlgorithm(given: Given): AlgorithmFinding {
  const trainer = asText(given('trainer') ?? '')
    .toLowerCase()
    .replace(/(config|trainer)$/, '')
  const id = trainers.includes(trainer) ? trainer : trlTrainer(given)
  if (id === 'dpo') requirePairLoss(given)
  return id === 'grpo' ? grpoVariant(given) : { id, names: ['trainer'] }
}

const trainers = ['grpo', 'rloo', 'dpo', 'sft', 'ppo']

function trlTrainer(given: Given): string {
  const losses = given('loss_type')
  if (Array.isArray(losses) || preferenceLosses.includes(asText(losses))) return 'dpo'
  const has = (names: readonly string[]) => names.some((name) => isGiven(given(name)))
  if (has(trlSigns.rloo)) return 'rloo'
  if (has(trlSigns.ppo)) return 'ppo'
  if (has(generatingSigns)) return 'grpo'
  if (has(trlSigns.dpo)) return 'dpo'
  return has(trlSigns.sft) || isGiven(given('max_length')) ? 'sft' : 'grpo'
}

/** Losses of DPO that are not here. */
const otherPairLosses = ['nca_pair', 'bco_pair', 'aot', 'aot_unpaired', 'discopop', 'sigmoid_norm']
const preferenceLosses = [...trlPreferenceLosses, ...otherPairLosses]

function requirePairLoss(given: Given): void {
  const losses = pairLosses(given)
  const strange = losses.find((type) => !isKnownPairLoss(type))
  if (strange !== undefined || losses.length === 0)
    throw unknown('trl', `DPO loss_type “${asText(strange ?? 'sft')}”`, trlPreferenceLosses.join(', '))
  if (losses.length > 1)
    throw unknown('trl', `mixture of DPO losses ${losses.map(asText).join(' and ')}`, 'one of them, with sft')
}

function grpoVariant(given: Given): AlgorithmFinding {
  const names = ['trainer', 'loss_type', 'importance_sampling_level']
  const type = asText(given('loss_type') ?? 'dapo')
  const refused = entryOf(refusedLosses, type)
  if (refused !== undefined) throw unknown('trl', `loss_type “${type}”`, refused)
  if (type === 'cispo' || type === 'sapo')
    return { id: type, names: type === 'sapo' ? names.slice(0, 2) : names }
  return { id: given('importance_sampling_level') === 'sequence' ? 'gspo' : 'grpo', names }
}

const agilerlWords: Readonly<Record<string, string>> = {
  grpo: 'grpo',
  gspo: 'gspo',
  cispo: 'cispo',
  llmppo: 'ppo',
  ppo: 'ppo',
  llmreinforce: 'reinforce',
  reinforce: 'reinforce',
  dpo: 'dpo',
  sft: 'sft',
}

/** One class has three. */
const agilerlLosses: readonly string[] = ['grpo', 'gspo', 'cispo']

function agilerlAlgorithm(given: Given): AlgorithmFinding {
  const wordOf = (name: string) => asText(given(name) ?? '').toLowerCase()
  const [algorithm, loss] = [wordOf('algo'), wordOf('loss_type')]
  const id = entryOf(agilerlWords, algorithm)
  if (id === undefined && algorithm !== '')
    throw unknown('agilerl', `algorithm “${algorithm}”`, Object.values(agilerlWords).join(', '))
  if (id !== undefined && id !== 'grpo') return { id, names: ['algo'] }
  if (loss !== '' && !agilerlLosses.includes(loss))
    throw unknown('agilerl', `loss_type “${loss}”`, agilerlLosses.join(', '))
  return { id: entryOf(agilerlWords, loss) ?? id ?? agilerlGuess(given), names: ['algo', 'loss_type'] }
}

function agilerlGuess(given: Given): string {
  if (isGiven(given('lr_actor')) || isGiven(given('vf_coef'))) return 'ppo'
  return isGiven(given('nll_alpha')) ? 'dpo' : 'grpo'
}

const estimators: Readonly<Record<string, string>> = {
  gae: 'ppo',
  grpo: 'grpo',
  rloo: 'rloo',
  rloo_vectorized: 'rloo',
  remax: 'remax',
  reinforce_plus_plus: 'reinforce',
  reinforce_plus_plus_baseline: 'reinforce-plus-plus',
}

function verlAlgorithm(given: Given): AlgorithmFinding {
  const loss = 'actor_rollout_ref.actor.policy_loss.loss_mode'
  const names = ['algorithm.adv_estimator', loss]
  const estimator = asText(given('algorithm.adv_estimator') ?? 'gae')
  const id = entryOf(estimators, estimator)
  if (id === undefined) throw unknown('verl', `adv_estimator “${estimator}”`, 'grpo')
  const mode = asText(given(loss) ?? 'vanilla')
  if (mode === 'vanilla') return { id, names }
  if (mode === 'gspo' || mode === 'cispo') return { id: mode, names }
  throw unknown('verl', `loss_mode “${mode}”`, 'grpo or gspo')
}

function arealAlgorithm(given: Given): AlgorithmFinding {
  const norm = (name: string) => given(`actor.reward_norm.${name}`)
  const names = [
    'actor.reward_norm.mean_leave1out',
    'actor.use_sapo_loss',
    'actor.m2_threshold',
    'critic.path',
  ]
  if (isGiven(given('actor.m2_threshold'))) throw unknown('areal', 'M2PO', 'grpo')
  if (given('actor.use_sapo_loss') === true) return { id: 'sapo', names }
  if (isGiven(given('critic.path'))) return { id: 'ppo', names }
  if (norm('mean_leave1out') === true) return { id: 'rloo', names }
  const isSequence = given('actor.importance_sampling_level') === 'sequence'
  return {
    id: isSequence ? 'gspo' : 'grpo',
    names: isSequence ? [...names, 'actor.importance_sampling_level'] : names,
  }
}

const finders: Readonly<Record<ToolId, Finder>> = {
  trl: trlAlgorithm,
  agilerl: agilerlAlgorithm,
  verl: verlAlgorithm,
  areal: arealAlgorithm,
}
