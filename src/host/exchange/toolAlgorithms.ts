/** Finds the Turnwise algorithm that another tool's settings mean, and says by which names. */
import { type AppError, invalidConfig } from '#shared/errors.ts'
import { toolTitles, type ToolId } from '#shared/tools.ts'
import { algorithmById, algorithms } from '#rl/algorithms/registry.ts'
import { isGiven, noEquivalent, saidAs, stands, type AlgorithmFinding, type Evidence } from './evidence.ts'
import { asText, entryOf } from './links.ts'
import { requireReadVersion, trlAlgorithm } from './trlAlgorithm.ts'

/** Algorithms that a person may choose. */
export const algorithmIds: readonly string[] = algorithms.map(({ id }) => id)

/**
 * `chosen`: the algorithm that a person says it is. Errors: AppError 'config/invalid' naming a loss or estimator that has no
 * equivalent here, or asking for the algorithm where the file does not tell it.
 */
export function algorithmOf(tool: ToolId, evidence: Evidence, chosen: string | null): AlgorithmFinding {
  if (tool === 'trl') requireReadVersion(evidence)
  if (chosen === null) return finders[tool](evidence)
  const { id, title } = algorithmById(chosen)
  return { id, names: decisive[tool], because: `${title} was chosen` }
}

/** Names that say the algorithm, where a person says it instead. */
const decisive: Readonly<Record<ToolId, readonly string[]>> = {
  trl: ['trainer'],
  agilerl: ['algo'],
  areal: ['train_dataset.type', 'valid_dataset.type'],
  llamafactory: ['stage'],
  axolotl: ['rl'],
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

/** Names of networks and worlds that are no language models. */
const controlNames = [
  'latent_dim',
  'num_envs',
  'encoder_config',
  'replay_buffer',
  'head_config',
  'learn_step',
]

function agilerlAlgorithm(evidence: Evidence): AlgorithmFinding {
  const wordOf = (name: string) => asText(evidence.given(name) ?? '').toLowerCase()
  const [algorithm, loss] = [wordOf('algo'), wordOf('loss_type')]
  requireLanguageModel(evidence, algorithm)
  const id = entryOf(agilerlWords, algorithm)
  if (id === undefined && algorithm !== '')
    throw noEquivalent('agilerl', `algorithm “${algorithm}”`, Object.values(agilerlWords).join(', '))
  const because = `its algorithm is ${algorithm.toUpperCase()}`
  if (id !== undefined && id !== 'grpo') return { id, names: ['algo'], because }
  if (loss !== '' && !agilerlLosses.includes(loss))
    throw noEquivalent('agilerl', `loss_type “${loss}”`, agilerlLosses.join(', '))
  const names = ['algo', 'loss_type']
  if (loss !== '') return { id: loss, names, because: saidAs('loss_type', loss) }
  return id === undefined ? { ...agilerlGuess(evidence), names } : { id, names, because }
}

function requireLanguageModel({ has }: Evidence, algorithm: string): void {
  const control = controlNames.find(has)
  if (control === undefined || has('pretrained_model_name_or_path')) return
  const what = `${algorithm.toUpperCase()} for tasks without a language model (${control})`
  throw noEquivalent('agilerl', what, 'ppo or grpo with a model')
}

const agilerlSigns: readonly (readonly [id: string, names: readonly string[]])[] = [
  ['ppo', ['lr_actor', 'vf_coef', 'gae_lambda']],
  ['dpo', ['nll_alpha']],
  ['grpo', ['group_size', 'adv_norm', 'use_kl_advantage_shaping', 'filter_zero_adv', 'clip_coef']],
]

function agilerlGuess({ has }: Evidence): Omit<AlgorithmFinding, 'names'> {
  for (const [id, names] of agilerlSigns) {
    const found = names.filter(has)
    if (found.length > 0) return { id, because: `it does not name the algorithm, but ${stands(found)}` }
  }
  throw ask('agilerl', 'its algorithm.name is missing', ['grpo', 'ppo', 'dpo', 'sft'])
}

const ask = (tool: ToolId, why: string, choices: readonly string[]): AppError =>
  invalidConfig(
    `The file does not tell which of ${toolTitles[tool]}’s algorithms it is for: ${why}.`,
    `Choose the algorithm: ${choices.join(', ')}; on the command line with --algorithm.`,
  )

/** AReaL's kinds of training data and the algorithms for them. */
const arealTypes: Readonly<Record<string, string>> = { sft: 'sft', dpo: 'dpo' }

function arealAlgorithm({ given }: Evidence): AlgorithmFinding {
  const type = asText(given('train_dataset.type') ?? 'rl')
  const names = ['train_dataset.type', 'valid_dataset.type']
  const because = saidAs('train_dataset.type', type)
  const id = entryOf(arealTypes, type)
  if (id !== undefined) return { id, names, because }
  if (type === 'rw')
    throw noEquivalent(
      'areal',
      'training of a reward model (train_dataset.type is rw)',
      'dpo, which learns from the same pairs',
    )
  if (type !== 'rl') throw noEquivalent('areal', `train_dataset.type “${type}”`, 'rl, sft or dpo')
  return { ...arealEstimator(given), names: [...names, ...arealNames] }
}

const arealNames = [
  'actor.reward_norm.mean_leave1out',
  'actor.use_sapo_loss',
  'actor.m2_threshold',
  'critic.path',
]

interface ArealRule {
  readonly id: string
  readonly because: string
  readonly when: (given: Evidence['given']) => boolean
}

const norm = (name: string) => `actor.reward_norm.${name}`

/** Rules in order; the first that holds decides. */
const arealRules: readonly ArealRule[] = [
  {
    id: 'sapo',
    because: 'actor.use_sapo_loss is true',
    when: (given) => given('actor.use_sapo_loss') === true,
  },
  { id: 'ppo', because: 'critic.path is set', when: (given) => isGiven(given('critic.path')) },
  {
    id: 'rloo',
    because: `${norm('mean_leave1out')} is true`,
    when: (given) => given(norm('mean_leave1out')) === true,
  },
  {
    id: 'reinforce',
    because: `${norm('mean_level')} is not group, so rewards are not compared within their group`,
    when: (given) => given(norm('mean_level')) !== 'group',
  },
  {
    id: 'reinforce-plus-plus',
    because:
      'actor.reward_norm subtracts the mean of the group without dividing by a standard deviation, and actor.adv_norm divides by that of the batch',
    when: (given) => !isGiven(given(norm('std_level'))) && given('actor.adv_norm.std_level') === 'batch',
  },
  {
    id: 'gspo',
    because: `${norm('mean_level')} is group, and actor.importance_sampling_level is sequence`,
    when: (given) => given('actor.importance_sampling_level') === 'sequence',
  },
  { id: 'grpo', because: `${norm('mean_level')} is group`, when: () => true },
]

function arealEstimator(given: Evidence['given']): Omit<AlgorithmFinding, 'names'> {
  if (isGiven(given('actor.m2_threshold'))) throw noEquivalent('areal', 'M2PO', 'grpo')
  const { id, because } = arealRules.find(({ when }) => when(given)) ?? { id: 'grpo', because: '' }
  return { id, because }
}

const llamafactoryStages: Readonly<Record<string, readonly [what: string, nearest: string]>> = {
  pt: ['stage pt (pretraining on plain text)', 'sft, which learns answers'],
  rm: ['stage rm (a reward model)', 'dpo, which learns from the same pairs'],
  ppo: ['stage ppo, whose rewards come from a model', 'grpo or ppo with rewards of Turnwise'],
}

function llamafactoryAlgorithm({ given, has }: Evidence): AlgorithmFinding {
  const stage = asText(given('stage') ?? 'sft')
  const [what, nearest] = entryOf(llamafactoryStages, stage) ?? []
  if (what !== undefined) throw noEquivalent('llamafactory', what, nearest ?? '')
  if (!['sft', 'dpo', 'kto'].includes(stage))
    throw noEquivalent('llamafactory', `stage “${stage}”`, 'sft, dpo or kto')
  if (stage === 'dpo') return llamafactoryPairs(given)
  const because = has('stage')
    ? saidAs('stage', stage)
    : 'stage is not set, and its default in LLaMA-Factory is sft'
  return { id: stage, names: ['stage'], because }
}

/** ORPO and SimPO are losses of the stage dpo there. */
function llamafactoryPairs(given: Evidence['given']): AlgorithmFinding {
  const loss = asText(given('pref_loss') ?? 'sigmoid')
  if (['orpo', 'simpo'].includes(loss))
    return { id: loss, names: ['stage', 'pref_loss'], because: saidAs('pref_loss', loss) }
  if (!['sigmoid', 'hinge', 'ipo'].includes(loss))
    throw noEquivalent('llamafactory', `pref_loss “${loss}”`, 'sigmoid, hinge, ipo, orpo or simpo')
  return { id: 'dpo', names: ['stage'], because: saidAs('stage', 'dpo') }
}

/** Forms of data sets that are learned otherwise, by the beginning of their `type`. */
const axolotlTypes: Readonly<Record<string, string>> = {
  completion: 'pretraining on plain text (datasets.type completion)',
  pretrain: 'pretraining on plain text (datasets.type pretrain)',
  bradley_terry: 'training of a reward model',
  stepwise_supervised: 'training of a reward model for steps',
}

function axolotlAlgorithm({ given, has }: Evidence): AlgorithmFinding {
  const names = ['rl']
  requireAnswers(given, has)
  if (!has('rl')) return { id: 'sft', names, because: 'rl is not set' }
  if (given('rl') === false) return { id: 'sft', names, because: 'rl is false' }
  const rl = asText(given('rl'))
  if (['dpo', 'ipo', 'orpo', 'simpo', 'kto'].includes(rl))
    return { id: rl === 'ipo' ? 'dpo' : rl, names, because: saidAs('rl', rl) }
  if (rl === 'grpo')
    throw invalidConfig(
      `${toolTitles.axolotl}'s rl “grpo” is not imported: its rewards and the prompts of its rows are Python code.`,
      'Set the run up in New run with the algorithm grpo: trl.num_generations is rollout.groupSize there, trl.max_completion_length rollout.maxNewTokens and trl.beta algorithm.settings.klCoefficient.',
    )
  throw noEquivalent('axolotl', `rl “${rl}”`, 'grpo')
}

function requireAnswers(given: Evidence['given'], has: Evidence['has']): void {
  const plain = 'pretraining on plain text'
  if (has('pretraining_dataset'))
    throw noEquivalent('axolotl', `${plain} (pretraining_dataset)`, 'sft, which learns answers')
  const reward = ['reward_model', 'process_reward_model'].find((name) => given(name) === true)
  if (reward !== undefined)
    throw noEquivalent('axolotl', `training of a reward model (${reward})`, 'dpo, which learns from pairs')
  const types = (Array.isArray(given('datasets')) ? (given('datasets') as readonly unknown[]) : []).map(
    (each) => asText((each as { type?: unknown } | null)?.type ?? ''),
  )
  const [refused] = types.flatMap((type) =>
    Object.entries(axolotlTypes).filter(([start]) => type.startsWith(start)),
  )
  if (refused !== undefined) throw noEquivalent('axolotl', refused[1], 'sft, which learns answers')
}

const finders: Readonly<Record<ToolId, (evidence: Evidence) => AlgorithmFinding>> = {
  trl: trlAlgorithm,
  agilerl: agilerlAlgorithm,
  areal: arealAlgorithm,
  llamafactory: llamafactoryAlgorithm,
  axolotl: axolotlAlgorithm,
}
