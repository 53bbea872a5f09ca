/**
 * Finds the algorithm that settings of TRL mean. The trainer is not in its files, so names that only one trainer has tell; where
 * none stands there, or those of several, a person chooses.
 */
import { type AppError, invalidConfig } from '#shared/errors.ts'
import { asText, entryOf } from './links.ts'
import { groups } from './settingRow.ts'
import { trlSettings } from './trlSettings.ts'
import { isKnownPairLoss, pairLosses, trlPreferenceLosses } from './specialLinks.ts'
import { missing, noEquivalent, saidAs, stands, type AlgorithmFinding, type Evidence } from './evidence.ts'

/**
 * Trainers without a counterpart, by the names of classes, commands and scripts, with the nearest algorithm; longer
 * names come first.
 */
const refusedTrainers: Readonly<Record<string, readonly [title: string, nearest: string]>> = {
  online_dpo: ['OnlineDPO', 'dpo on pairs that were judged before'],
  onlinedpo: ['OnlineDPO', 'dpo on pairs that were judged before'],
  nash_md: ['NashMD', 'dpo on pairs that were judged before'],
  nashmd: ['NashMD', 'dpo on pairs that were judged before'],
  reward: ['reward model trainer', 'dpo, which learns from the same pairs without a reward model'],
  tpo: ['TPO', 'dpo'],
  bco: ['BCO', 'dpo'],
  gkd: ['GKD', 'distillation with compares “top-k”, and the teacher as reference.model'],
  gold: ['GOLD', 'sft on answers of the teacher'],
  asyncgrpo: ['AsyncGRPO', 'grpo with a rollout server and rollout.maxStaleness'],
  sdft: ['SDFT', 'sft on answers of the teacher'],
  sdpo: ['SDPO', 'grpo'],
  ssd: ['SSD', 'sft on answers that the model gave before'],
  minillm: ['MiniLLM', 'distillation, with the teacher as reference.model'],
  distillation: ['distillation trainer', 'distillation, with the teacher as reference.model'],
  xpo: ['XPO', 'dpo on pairs that were judged before'],
  prm: ['PRM', 'grpo with a reward per turn'],
}

/** Trainers that are algorithms here; a script named after a variant of GRPO is that. CPO’s trainer is that of SimPO, too. */
export const trainers = ['grpo', 'gspo', 'rloo', 'dpo', 'orpo', 'simpo', 'cpo', 'kto', 'sft', 'ppo'] as const

/** Names that only one kind of trainer has. */
const signs = {
  grpo: [
    ...[
      'num_generations',
      'max_completion_length',
      'reward_funcs',
      'num_iterations',
      'epsilon',
      'epsilon_high',
      'reward_weights',
    ],
    ...['steps_per_generation', 'generation_batch_size', 'log_completions', 'vllm_mode'],
  ],
  rloo: ['normalize_advantages', 'reward_clip_range'],
  ppo: [
    'num_ppo_epochs',
    'kl_coef',
    'cliprange',
    'cliprange_value',
    'response_length',
    'missing_eos_penalty',
    'lam',
  ],
  dpo: [
    'loss_weights',
    'label_smoothing',
    'precompute_ref_log_probs',
    'f_divergence_type',
    'ld_alpha',
    'use_weighting',
    'discopop_tau',
    'rpo_alpha',
  ],
  cpo: ['cpo_alpha', 'simpo_gamma'],
  kto: ['desirable_weight', 'undesirable_weight'],
  sft: [
    ...['packing', 'packing_strategy', 'eval_packing', 'completion_only_loss', 'assistant_only_loss'],
    ...['dataset_text_field', 'chat_template_path'],
  ],
} as const
type Trainer = keyof typeof signs

const namesOf = (isMeant: (algorithms: readonly string[]) => boolean): string[] =>
  trlSettings.filter(({ when }) => isMeant(when ?? [])).flatMap(({ link }) => Object.keys(link.keys))

/** Names in the table of settings that GRPO's trainer alone has. */
function grpoNames(): readonly string[] {
  const own = namesOf((ids) => ids.length > 0 && ids.every((id) => groups.includes(id)))
  const others = new Set(namesOf((ids) => ids.length === 0 || ids.some((id) => !groups.includes(id))))
  return [...new Set<string>([...signs.grpo, ...own.filter((name) => !others.has(name))])]
}
const grpoSigns = grpoNames()

/** Values of `loss_type`, which several trainers have. */
const groupLosses = ['grpo', 'bnpo', 'dr_grpo', 'dapo', 'cispo', 'sapo', 'vespo', 'luspo']
const answerLosses = ['nll', 'dft', 'chunked_nll']
/** Losses of CPO and KTO that those of DPO do not share. */
const contrastLosses = ['simpo', 'alphapo']
const markLosses = ['kto', 'apo_zero_unpaired']
/** Losses of DPO that are not here. */
const otherPairLosses = [
  'nca_pair',
  'bco_pair',
  'aot',
  'aot_unpaired',
  'aot_pair',
  'discopop',
  'sigmoid_norm',
]
const preferenceLosses: readonly string[] = [...trlPreferenceLosses, ...otherPairLosses]

const refusedLosses: Readonly<Record<string, string>> = {
  vespo: 'cispo',
  luspo: 'gspo with lossNorm “constant-length”',
}

/** Errors: AppError 'config/invalid' for a trainer or loss without a counterpart, and where nothing tells the trainer. */
export function trlAlgorithm(evidence: Evidence): AlgorithmFinding {
  const { id, because } = said(evidence) ?? byNames(evidence)
  if (id === 'dpo') requirePairLoss(evidence)
  if (id === 'cpo' || id === 'simpo') return simpoOf(evidence, because)
  if (id === 'kto') requireLoss(evidence, 'KTO', ['kto'])
  if (id === 'sft') requireLoss(evidence, 'SFT', ['nll', 'chunked_nll'])
  return id === 'grpo' ? grpoVariant(evidence, because) : { id, names: ['trainer'], because }
}

/** Names of PPOConfig before TRL 0.12, which was another trainer. */
const earlierPpo = ['ppo_epochs', 'init_kl_coef', 'adap_kl_ctrl', 'kl_penalty']

/** Names of RLOOConfig while it was a trainer of another kind; PPOConfig has the last ones still. */
const earlierRloo = ['rloo_k', 'kl_coef', 'response_length', 'total_episodes']

/**
 * Refuses settings of another version. Errors: AppError 'config/invalid' where the settings are those of a version that
 * is not read.
 */
export function requireReadVersion({ has, given }: Evidence): void {
  const isRloo = has('rloo_k') || given('trainer') === 'rloo'
  const rloo = isRloo ? earlierRloo.filter(has) : []
  if (rloo.length > 0)
    throw invalidConfig(
      `The file is for an earlier RLOOConfig of TRL, whose settings are not read: ${stands(rloo)}.`,
      'Set the run up in New run: rloo_k is rollout.groupSize there, kl_coef algorithm.settings.klCoefficient and response_length rollout.maxNewTokens; total_episodes counts answers, so divide it by the answers of a step for steps.',
    )
  const found = earlierPpo.filter(has)
  if (found.length === 0) return
  throw invalidConfig(
    `The file is for the PPOConfig of TRL before 0.12, whose settings are not read: ${stands(found)}.`,
    'Set the run up in New run: model_name is model there, batch_size rollout.promptsPerStep, mini_batch_size optimization.minibatchSize, ppo_epochs optimization.epochs, init_kl_coef algorithm.settings.klCoefficient, cliprange algorithm.settings.clipCoefficient and lam algorithm.settings.gaeLambda.',
  )
}

interface Guess {
  readonly id: string
  readonly because: string
}

/** Finds the trainer by a class, command or script. */
function said({ given, program }: Evidence): Guess | null {
  const class_ = asText(given('trainer') ?? '').replace(/(config|trainer)$/i, '')
  const source = class_ === '' ? program : class_
  const id = trainerIn(source)
  if (source === null || id === null) return null
  return {
    id,
    because:
      class_ === '' ? `the command starts ${source}` : `its trainer is that of ${class_.toUpperCase()}`,
  }
}

/** The trainer that a name says: `trl dpo`, `scripts/run_sft.py`. Errors: AppError 'config/invalid' for one that is not here. */
function trainerIn(source: string | null): string | null {
  const words = wordsOf(source === null ? '' : source.slice(source.lastIndexOf('/') + 1).replace(/\.py$/, ''))
  requireTrainer(words)
  return trainers.find((name) => words.includes(`_${name}_`)) ?? null
}

/** The trainer that a command or script is named after, also one without a counterpart; null: none. */
export function trainerNamed(source: string): string | null {
  const words = wordsOf(source.slice(source.lastIndexOf('/') + 1).replace(/\.py$/, ''))
  const named = [...Object.keys(refusedTrainers), ...trainers].find((name) => words.includes(`_${name}_`))
  return named === 'cpo' ? 'simpo' : (named ?? null)
}

const wordsOf = (text: string): string => `_${text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')}_`

const refusedIn = (words: string) =>
  Object.entries(refusedTrainers).find(([name]) => words.includes(`_${name}_`))?.[1]

function requireTrainer(words: string, because?: string): void {
  const [title, nearest] = refusedIn(words) ?? []
  if (title !== undefined)
    throw noEquivalent('trl', because === undefined ? title : `${title} (${because})`, nearest ?? '')
}

/**
 * Refuses a file whose label is that of another trainer: trainers share names, so the name of the results counts too.
 */
function requireOwnLabel({ given }: Evidence, title: string): void {
  for (const name of labelNames) {
    const [refused, nearest] = refusedIn(wordsOf(asText(given(name) ?? ''))) ?? []
    if (refused === undefined) continue
    throw invalidConfig(
      `The file’s names could be ${title}’s, but ${saidAs(name, given(name))}: TRL's ${refused} has no equivalent in Turnwise.`,
      `The closest is ${nearest ?? 'dpo'}. If the file is for ${title} anyway, choose that algorithm; on the command line with --algorithm ${title.toLowerCase()}.`,
    )
  }
}

function byNames(evidence: Evidence): Guess {
  requireOwnSigns(evidence)
  const found = byOwnSigns(evidence) ?? byLoss(evidence) ?? bySigns(evidence)
  if (found.id === 'dpo') requireOwnLabel(evidence, 'DPO')
  return found
}

function bySigns(evidence: Evidence): Guess {
  const [first, ...others] = signsFound(evidence)
  if (first !== undefined && others.length > 0) throw severalTrainers([first, ...others])
  if (first !== undefined && first.id !== 'sft') return { id: first.id, because: stands(first.own) }
  const weak = pairs(evidence) ?? answers(evidence, first?.own ?? []) ?? byLabel(evidence)
  return weak ?? unknownTrainer(evidence)
}

interface Signs {
  readonly id: Trainer
  readonly own: readonly string[]
}

/** Lists the trainers whose names are in the file. */
function signsFound({ has }: Evidence): readonly Signs[] {
  const found = (Object.keys(signs) as Trainer[]).flatMap((id): Signs[] => {
    const own = (id === 'grpo' ? grpoSigns : signs[id]).filter(has)
    return own.length === 0 ? [] : [{ id, own }]
  })
  // GRPO's names stand in files of RLOO too, whose own decide then.
  if (found.some(({ id }) => id === 'rloo')) return found.filter(({ id }) => id !== 'grpo')
  const coefficients = pairNames.filter(has)
  // The coefficients of two trainers, and nothing else of PPO's.
  const isOpen = found.map(({ own }) => own.join()).join() === 'kl_coef' && coefficients.length > 1
  return isOpen ? [...found, { id: 'dpo', own: coefficients }] : found
}

/** Names that only trainers without a counterpart have. */
const refusedSigns: Readonly<Record<string, readonly string[]>> = {
  tpo: ['tpo_alpha'],
  reward: ['center_rewards_coefficient'],
  gkd: ['teacher_model_name_or_path', 'seq_kd'],
}

function requireOwnSigns({ has }: Evidence): void {
  for (const [trainer, names] of Object.entries(refusedSigns)) {
    const found = names.filter(has)
    if (found.length > 0) requireTrainer(`_${trainer}_`, stands(found))
  }
}

/** Trainers with losses of DPO's names, told by names of their own. */
function byOwnSigns({ has }: Evidence): Guess | null {
  for (const id of ['cpo', 'kto'] as const) {
    const own = signs[id].filter(has)
    if (own.length > 0) return { id, because: stands(own) }
  }
  return null
}

function byLoss({ given, has }: Evidence): Guess | null {
  if (!has('loss_type')) return null
  const loss = given('loss_type')
  const name = asText(loss ?? '')
  const of = (losses: readonly string[]) => (losses.includes(name) ? `loss_type is ${name}` : null)
  if (Array.isArray(loss)) return { id: 'dpo', because: 'loss_type is a list of losses' }
  const because = of(preferenceLosses)
  if (because !== null) return { id: 'dpo', because }
  const contrast = of(contrastLosses)
  if (contrast !== null) return { id: 'cpo', because: contrast }
  const marks = of(markLosses)
  if (marks !== null) return { id: 'kto', because: marks }
  const group = of(groupLosses)
  if (group !== null) return { id: 'grpo', because: group }
  const answer = of(answerLosses)
  return answer === null ? null : { id: 'sft', because: answer }
}

const pairNames = ['beta', 'max_prompt_length', 'max_length']

/** Trainers on preferences have β and limit prompts without generating; that of DPO is the usual one. */
function pairs(evidence: Evidence): Guess | null {
  const { has } = evidence
  const own = pairNames.filter(has)
  if (own.length < 2 || signs.sft.filter(has).length > 0) return null
  const label = labels(evidence)
  const id = ['orpo', 'simpo', 'cpo', 'kto'].find((each) => label.includes(`_${each}_`)) ?? 'dpo'
  return { id, because: `${stands(own)}, ${missing('num_generations')}` }
}

function answers(evidence: Evidence, own: readonly string[]): Guess | null {
  const { has } = evidence
  const found = [...own, ...['max_seq_length', 'max_length'].filter(has)]
  if (found.length === 0 || has('beta')) return null
  const label = labels(evidence)
  if (own.length === 0) {
    requireOwnLabel(evidence, 'SFT')
    const other = trainers.find((id) => id !== 'sft' && label.includes(`_${id}_`))
    if (other !== undefined) return null
  }
  return { id: 'sft', because: `${stands(found)}, ${missing('num_generations', 'beta')}` }
}

const labelNames = ['output_dir', 'hub_model_id', 'run_name', 'hub_model_revision']

const labels = ({ given }: Evidence): string =>
  wordsOf(labelNames.map((name) => asText(given(name) ?? '')).join(' '))

/** Finds the trainer by the name of the output folder. */
function byLabel(evidence: Evidence): Guess | null {
  const { given } = evidence
  requireTrainer(labels(evidence))
  const found = trainers.filter((id) => labels(evidence).includes(`_${id}_`))
  const [id] = found
  if (id === undefined || found.length > 1) return null
  const name = labelNames.find((each) => wordsOf(asText(given(each) ?? '')).includes(`_${id}_`)) ?? ''
  return { id, because: `${saidAs(name, given(name))}, ${missing('num_generations')}` }
}

function severalTrainers(found: readonly Signs[]): AppError {
  const sentence = found.map(
    ({ id, own }) =>
      `${own.slice(0, 2).join(' and ')} ${own.length === 1 ? 'is' : 'are'} of ${id.toUpperCase()}`,
  )
  return askAlgorithm(
    `The file has names of several of TRL’s trainers: ${sentence.join(', ')}.`,
    found.map(({ id }) => id),
  )
}

function unknownTrainer({ has }: Evidence): never {
  const nearly = has('beta') ? ' It has beta, which DPO, ORPO, KTO and GRPO have.' : ''
  throw askAlgorithm(
    `The file does not tell which of TRL’s trainers it is for: num_generations (GRPO, RLOO), max_prompt_length with beta (DPO) and max_length or packing (SFT) are not in it.${nearly}`,
    ['sft', 'dpo', 'orpo', 'simpo', 'kto', 'grpo', 'rloo'],
  )
}

const askAlgorithm = (message: string, choices: readonly string[]): AppError =>
  invalidConfig(message, `Choose the algorithm: ${choices.join(', ')}; on the command line with --algorithm.`)

function requirePairLoss({ given }: Evidence): void {
  const losses = pairLosses(given)
  const strange = losses.find((type) => !isKnownPairLoss(type))
  if (strange !== undefined || losses.length === 0)
    throw noEquivalent('trl', `DPO loss_type “${asText(strange ?? 'sft')}”`, trlPreferenceLosses.join(', '))
  if (losses.length > 1)
    throw noEquivalent(
      'trl',
      `mixture of DPO losses ${losses.map(asText).join(' and ')}`,
      'one of them, with sft',
    )
}

/** Refuses other losses of a trainer than those that are here; the first is the usual one. */
function requireLoss({ given }: Evidence, title: string, [usual = '', ...others]: readonly string[]): void {
  const loss = asText(given('loss_type') ?? usual)
  if (loss !== usual && !others.includes(loss))
    throw noEquivalent('trl', `${title} loss_type “${loss}”`, usual)
}

/** SimPO is a loss of CPO's trainer, and not its usual one. */
function simpoOf({ given }: Evidence, because: string): AlgorithmFinding {
  const loss = asText(given('loss_type') ?? 'sigmoid')
  if (loss !== 'simpo')
    throw noEquivalent(
      'trl',
      loss === 'alphapo' ? 'AlphaPO' : `CPO with loss_type “${loss}”`,
      'simpo or orpo',
    )
  return { id: 'simpo', names: ['trainer', 'loss_type'], because }
}

function grpoVariant({ given }: Evidence, because: string): AlgorithmFinding {
  const names = ['trainer', 'loss_type', 'importance_sampling_level']
  const type = asText(given('loss_type') ?? 'dapo')
  const refused = entryOf(refusedLosses, type)
  if (refused !== undefined) throw noEquivalent('trl', `loss_type “${type}”`, refused)
  const and = (reason: string) => (because === reason ? reason : `${because}, and ${reason}`)
  if (type === 'cispo' || type === 'sapo')
    return {
      id: type,
      names: type === 'sapo' ? names.slice(0, 2) : names,
      because: and(`loss_type is ${type}`),
    }
  if (given('importance_sampling_level') !== 'sequence') return { id: 'grpo', names, because }
  return { id: 'gspo', names, because: and('importance_sampling_level is sequence') }
}
