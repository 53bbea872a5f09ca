/**
 * All metrics of a run, declared once: charts, the command line and exports read label and unit from here. Names are
 * TRL's if it has one. A name with {function} stands for one metric per reward function, one with {name} for values
 * logged by user code.
 */
import type { ExperienceKind } from './experience.ts'
import { answers, losses, policies } from './lossMetrics.ts'

export interface MetricDeclaration {
  /** Label; contains a placeholder if the name does. */
  readonly label: string
  readonly unit:
    'nats' | 'seconds' | 'tokens' | 'tokens/s' | 'share' | 'ratio' | 'reward' | 'count' | 'number'
  /** Direction of improvement; none if neither is better. */
  readonly better: 'higher' | 'lower' | 'none'
  readonly explanation: string
  readonly chart?: MetricChart | undefined
}

/** Chart of a metric shown by default. Charts are ordered as in the table below. */
export interface MetricChart {
  /** Among the first panels of a comparison. */
  readonly compared?: true
  /** Place on a run's page: always, or among the charts for investigating problems. */
  readonly panel?: 'overview' | 'learning'
  /** Title, by default that of the metric; `line` and `help` likewise. */
  readonly title?: string
  readonly line?: string
  /** Further lines of the same chart. */
  readonly also?: readonly (readonly [metric: string, line: string])[]
  /** Metric of the standard deviation to either side of the first line. */
  readonly band?: string
  readonly size?: 'wide'
  /** Values that are always in view. */
  readonly include?: readonly number[]
  /** Kinds of experience for which the chart is shown before it has values. */
  readonly expected?: readonly ExperienceKind[]
  readonly help?: string
}

/** [label, unit, better, explanation, chart] */
type Row = readonly [
  string,
  MetricDeclaration['unit'],
  MetricDeclaration['better'],
  string,
  (MetricChart | undefined)?,
]

const table = {
  reward: [
    'Reward',
    'reward',
    'higher',
    'Mean reward of the trajectories of the step.',
    {
      compared: true,
      panel: 'overview',
      line: 'training',
      also: [['eval_reward', 'eval']],
      band: 'reward_std',
      size: 'wide',
      expected: ['rollout'],
      help: 'Mean reward of the completions of each step; the band is the standard deviation within groups. Eval: mean reward on the validation split, which is never trained on, with greedy decoding.',
    },
  ],
  reward_std: [
    'Reward std',
    'reward',
    'none',
    'Standard deviation of the reward within its group (without groups: in the step); 0 leaves nothing to learn.',
  ],
  eval_reward: [
    'Eval reward',
    'reward',
    'higher',
    'Mean reward on validation rows with greedy decoding.',
    { compared: true },
  ],
  ...answers,
  frac_reward_zero_std: [
    'Zero-variance groups',
    'share',
    'lower',
    'Share of groups whose rewards are all equal, which have no learning signal.',
    { compared: true, panel: 'overview', line: 'share', include: [0, 1], expected: ['rollout'] },
  ],
  ...policies,
  'completions/mean_length': [
    'Completion length',
    'tokens',
    'none',
    'Mean length of completions.',
    { compared: true, panel: 'overview', line: 'mean length', include: [0], expected: ['rollout'] },
  ],
  'completions/clipped_ratio': [
    'Truncated completions',
    'share',
    'lower',
    'Share of completions truncated at the length limit.',
    { panel: 'overview', line: 'share', include: [0], expected: ['rollout'] },
  ],
  eval_loss: ['Eval loss', 'number', 'lower', 'Loss on validation rows.', { compared: true }],
  eval_perplexity: [
    'Eval perplexity',
    'number',
    'lower',
    'Exponential of the mean negative log-probability of validation answers; 1 is perfect.',
    { compared: true },
  ],
  grad_norm: [
    'Gradient norm',
    'number',
    'none',
    'Norm of the gradient before clipping; sudden peaks are a warning sign.',
    { compared: true, panel: 'learning', line: 'norm', include: [0] },
  ],
  'grad_norm/critic': [
    'Gradient norm, critic',
    'number',
    'none',
    'Norm of the critic’s gradient before clipping.',
  ],
  aux_loss: [
    'Router balance',
    'number',
    'none',
    'Load-balancing loss of a mixture of experts, which is not trained: as many as each token has experts where all are used alike, more where some are preferred.',
    { panel: 'learning', line: 'loss' },
  ],
  ...losses,
  'environment/turns': [
    'Turns per episode',
    'count',
    'none',
    'Mean number of turns the policy had in an episode.',
    { panel: 'overview', line: 'turns', include: [0] },
  ],
  'environment/done_ratio': [
    'Episodes terminated',
    'share',
    'higher',
    'Share of episodes whose task was over; the others were truncated or failed.',
    { panel: 'overview', line: 'share', include: [0, 1] },
  ],
  'environment/truncated_ratio': [
    'Episodes truncated',
    'share',
    'lower',
    'Share of episodes that the environment, the turn limit or the context limit broke off.',
    { panel: 'overview', line: 'share', include: [0, 1] },
  ],
  'environment/context_limit_ratio': [
    'Episodes at the context limit',
    'share',
    'lower',
    'Share of episodes that ended because the transcript was too long.',
  ],
  'workflow/turns': [
    'Turns per trajectory',
    'count',
    'none',
    'Mean number of turns of the policy in a trajectory of the workflow.',
    { panel: 'overview', line: 'turns', include: [0] },
  ],
  'workflow/requests': [
    'Requests per episode',
    'count',
    'none',
    'Mean number of requests that an episode of the workflow made, to the policy and to tools.',
  ],
  'workflow/rejected_ratio': [
    'Episodes rejected',
    'share',
    'none',
    'Share of episodes of the workflow that returned nothing.',
  ],
  'workflow/failed_ratio': [
    'Episodes failed',
    'share',
    'lower',
    'Share of episodes of the workflow that could not go on; the samples say why.',
  ],
  step_time: ['Time per step', 'seconds', 'lower', 'Duration of the whole step.', { compared: true }],
  learning_rate: [
    'Learning rate',
    'number',
    'none',
    'Learning rate of the last update of the step.',
    { panel: 'learning', line: 'rate', include: [0] },
  ],
  epoch: ['Epoch', 'number', 'none', 'Passes over the training prompts so far.'],
  num_tokens: ['Tokens so far', 'tokens', 'none', 'Prompt and completion tokens of all rollouts so far.'],
  'time/rollout': [
    'Rollout time',
    'seconds',
    'lower',
    'Time spent generating; of rollouts that run while the policy learns, the time spent waiting for them.',
  ],
  'time/handover': [
    'Adapter hand-over time',
    'seconds',
    'lower',
    'Time spent writing new versions of the adapter and loading them on every rollout server.',
  ],
  'time/reward': ['Reward time', 'seconds', 'lower', 'Time spent in reward functions.'],
  'time/judge': [
    'Judge time',
    'seconds',
    'lower',
    'Time spent waiting for judges since the step before, evaluations included.',
  ],
  'time/score': ['Scoring time', 'seconds', 'lower', 'Time spent on forward passes before the first update.'],
  'time/update': ['Update time', 'seconds', 'lower', 'Time spent on gradients and optimizer.'],
  'rollout/tokens_per_second': [
    'Rollout throughput',
    'tokens/s',
    'higher',
    'Generated tokens per second of rollout.',
  ],
  'update/tokens_per_second': [
    'Update throughput',
    'tokens/s',
    'higher',
    'Prompt and completion tokens learned from per second of update.',
  ],
  'rewards/{function}/mean': [
    'Reward: {function}',
    'reward',
    'higher',
    'Mean of one reward function, unweighted, where it applies.',
  ],
  'rewards/{function}/std': [
    'Reward std: {function}',
    'reward',
    'none',
    'Standard deviation of one reward function over the step.',
  ],
  'reward/unscored': [
    'Unscored trajectories',
    'count',
    'lower',
    'Trajectories to which no reward function applied.',
  ],
  'reward/failures': [
    'Reward failures',
    'count',
    'lower',
    'Calls of reward functions that failed.',
    { panel: 'learning', line: 'failures', include: [0] },
  ],
  'judge/cached_ratio': [
    'Judgements from the cache',
    'share',
    'none',
    'Share of completions that judges had scored before, so that nobody was asked.',
  ],
  'judge/unscored_ratio': [
    'Answers without a score',
    'share',
    'lower',
    'Share of completions to which a judge answered without a score.',
    { panel: 'learning', line: 'share', include: [0] },
  ],
  'judge/tokens': [
    'Judge tokens',
    'tokens',
    'none',
    'Tokens of the questions to judges and their answers since the step before, evaluations included.',
  ],
  'judge/cost': [
    'Judge cost so far',
    'number',
    'lower',
    'What judges have cost by the prices of their settings.',
    { panel: 'learning', line: 'cost', include: [0] },
  ],
  'reward/greedy_baseline': [
    'Greedy baseline reward',
    'reward',
    'higher',
    'Mean reward of the greedy answers that completions are compared with.',
  ],
  'rollout/groups_turned_down': [
    'Groups resampled',
    'count',
    'lower',
    'Zero-variance groups replaced by further prompts, as long as rounds were left.',
  ],
  'rollout/replayed_prompts': [
    'Replayed prompts',
    'count',
    'none',
    'Prompts of the step that were drawn before and not solved; `reward` counts them too.',
  ],
  'rollout/unsolved_prompts': [
    'Unsolved prompts',
    'count',
    'lower',
    'Rows that were drawn and not solved and come again in later steps.',
  ],
  'logged/{name}': [
    'Logged: {name}',
    'number',
    'none',
    'Mean of a number that reward functions log under this name.',
  ],
  'completions/min_length': ['Completion length, min', 'tokens', 'none', 'Shortest completion.'],
  'completions/max_length': ['Completion length, max', 'tokens', 'none', 'Longest completion.'],
  'completions/mean_terminated_length': [
    'Terminated length',
    'tokens',
    'none',
    'Mean length of completions that stopped by themselves (EOS).',
  ],
  'completions/min_terminated_length': [
    'Terminated length, min',
    'tokens',
    'none',
    'Shortest completion that stopped by itself (EOS).',
  ],
  'completions/max_terminated_length': [
    'Terminated length, max',
    'tokens',
    'none',
    'Longest completion that stopped by itself (EOS).',
  ],
  'sampling/sampling_logp_difference/mean': [
    'Train–inference logprob mismatch',
    'nats',
    'lower',
    'Mean difference between the log-probabilities of sampler and learner for the same tokens.',
    { panel: 'learning', line: 'mismatch', include: [0] },
  ],
  'sampling/sampling_logp_difference/max': [
    'Train–inference logprob mismatch, max',
    'nats',
    'lower',
    'Largest difference between the log-probabilities of sampler and learner for the same tokens.',
  ],
  'sampling/importance_sampling_ratio/min': [
    'Importance ratio, min',
    'ratio',
    'none',
    'Smallest learner-to-sampler probability ratio.',
  ],
  'sampling/importance_sampling_ratio/mean': [
    'Importance ratio',
    'ratio',
    'none',
    'Mean learner-to-sampler probability ratio; 1 is ideal.',
  ],
  'sampling/importance_sampling_ratio/p95': [
    'Importance ratio, p95',
    'ratio',
    'none',
    'The 95th percentile of the learner-to-sampler probability ratio.',
  ],
  'sampling/importance_sampling_ratio/capped': [
    'Importance ratios capped',
    'share',
    'lower',
    'Share of tokens whose ratio reached the cap.',
  ],
  'sampling/server_logp_difference/mean': [
    'Server logprob mismatch',
    'nats',
    'lower',
    'Mean difference between the log-probabilities of the rollout servers and Turnwise’s, on some completions of the step.',
    { panel: 'learning', line: 'mean', also: [['sampling/server_logp_difference/max', 'max']], include: [0] },
  ],
  'sampling/server_logp_difference/max': [
    'Server logprob mismatch, max',
    'nats',
    'lower',
    'Largest difference between the log-probabilities of the rollout servers and Turnwise’s, on those completions.',
  ],
  'sampling/engine_logp_difference/mean': [
    'Trainer logprob mismatch',
    'nats',
    'lower',
    'Mean difference between the log-probabilities of the trainer and Turnwise’s for the same tokens and adapter, at an evaluation.',
    { panel: 'learning', line: 'mean', also: [['sampling/engine_logp_difference/max', 'max']], include: [0] },
  ],
  'sampling/engine_logp_difference/max': [
    'Trainer logprob mismatch, max',
    'nats',
    'lower',
    'Largest difference between the log-probabilities of the trainer and Turnwise’s for the same tokens and adapter.',
  ],
  'sampling/server_missing_logprobs': [
    'Server logprobs missing',
    'count',
    'lower',
    'Tokens for which the rollout server returned no log-probability; Turnwise’s is used.',
    { panel: 'learning', line: 'tokens', include: [0] },
  ],
  'rollout/servers': [
    'Rollout servers',
    'count',
    'higher',
    'Rollout servers that take part, where there are several.',
    { panel: 'learning', line: 'servers', include: [0] },
  ],
  'rollout/staleness': [
    'Staleness',
    'count',
    'none',
    'Steps between the policy that generated the tokens and the one that learns from them, mean over tokens.',
    { panel: 'learning', line: 'steps', include: [0] },
  ],
  'rollout/server_retries': [
    'Server retries',
    'count',
    'lower',
    'Retried requests to rollout servers.',
    { panel: 'learning', line: 'requests', include: [0] },
  ],
  'rollout/server_adapters': [
    'Adapters on the server',
    'count',
    'none',
    'Versions of the adapter that the rollout servers hold.',
  ],
  'sampling/rows_skipped': [
    'Trajectories without sampler logprobs',
    'count',
    'lower',
    'Trajectories without a complete record of the sampler.',
  ],
  'update/trajectories': [
    'Trajectories in the update',
    'count',
    'none',
    'Trajectories that took part in the update.',
  ],
  'update/count': ['Optimizer updates', 'count', 'none', 'Optimizer updates of the step.'],
  'update/skipped': [
    'Skipped updates',
    'count',
    'lower',
    'Updates of the step that were not applied, because their numbers could not be right.',
  ],
  'eval_rewards/{function}/mean': [
    'Eval reward: {function}',
    'reward',
    'higher',
    'Mean of one reward function on validation rows.',
  ],
  'reward/with_answer': [
    'Reward with the answer',
    'reward',
    'none',
    'Mean reward of the completions in which the answer of their row stands.',
  ],
  'reward/without_answer': [
    'Reward without the answer',
    'reward',
    'none',
    'Mean reward of the completions in which the answer of their row does not stand.',
  ],
  'prompts/answer_ratio': [
    'Prompts with their answer',
    'share',
    'lower',
    'Share of prompts that state the answer of their row, less the share that states another row’s.',
  ],
  'prompts/template_ratio': [
    'Prompts in the model’s chat template',
    'share',
    'higher',
    'Share of prompts with the markup of the model’s own chat template.',
  ],
  'eval_prompts/answer_ratio': [
    'Prompts with their answer, eval',
    'share',
    'lower',
    'Share of validation prompts that state the answer of their row, less the share that states another row’s.',
  ],
  'eval_completions/mean_length': [
    'Eval completion length',
    'tokens',
    'none',
    'Mean length of validation completions.',
  ],
  'eval_completions/clipped_ratio': [
    'Eval truncated completions',
    'share',
    'lower',
    'Share of validation completions truncated at the length limit.',
  ],
  eval_surprisal: [
    'Eval surprisal',
    'nats',
    'lower',
    'Mean negative log-probability of the tokens of validation answers.',
  ],
  'eval_rewards/chosen': [
    'Eval implicit reward, chosen',
    'nats',
    'higher',
    'The same as rewards/chosen, on validation pairs.',
  ],
  'eval_rewards/rejected': [
    'Eval implicit reward, rejected',
    'nats',
    'lower',
    'The same as rewards/rejected, on validation pairs.',
  ],
  'eval_rewards/margins': [
    'Eval reward margin',
    'nats',
    'higher',
    'Implicit reward of the chosen answers minus that of the rejected ones, on validation pairs.',
  ],
  'eval_rewards/accuracies': [
    'Eval preference accuracy',
    'share',
    'higher',
    'Share of validation pairs whose chosen answer has the higher implicit reward.',
  ],
  'eval_logps/chosen': [
    'Eval logprob, chosen',
    'nats',
    'higher',
    'Mean log-probability of validation chosen answers.',
  ],
  'eval_logps/rejected': [
    'Eval logprob, rejected',
    'nats',
    'none',
    'Mean log-probability of validation rejected answers.',
  ],
  eval_reference_point: [
    'Eval reference point',
    'nats',
    'none',
    'The same as reference_point, on validation rows.',
  ],
  eval_time: ['Eval time', 'seconds', 'lower', 'Duration of the evaluation.'],
  checkpoint_time: ['Checkpoint time', 'seconds', 'lower', 'Duration of writing a checkpoint.'],
} as const satisfies Record<string, Row>

type Expanded<Name extends string> = Name extends `${infer Head}{${string}}${infer Tail}`
  ? `${Head}${string}${Tail}`
  : Name

export type MetricName = Expanded<keyof typeof table>
/** Metrics of a step or an evaluation by name; those that do not apply are absent. */
export type Metrics = Readonly<Partial<Record<MetricName, number>>>

/** Every declared metric, by name or by pattern. */
export const metricDeclarations: ReadonlyMap<string, MetricDeclaration> = new Map(
  Object.entries<Row>(table).map(([name, [label, unit, better, explanation, chart]]) => [
    name,
    { label, unit, better, explanation, chart },
  ]),
)

/** Returns the declaration of a concrete metric, such as rewards/exact-match/mean; undefined if there is no such metric. */
export function findDeclaration(name: string): MetricDeclaration | undefined {
  return metricDeclarations.get(name) ?? metricDeclarations.get(patternOf(name).pattern)
}

const patterns = [
  [/^((?:eval_)?rewards)\/(.*)\/(mean|std)$/, '$1/{function}/$3', '$2'],
  [/^logged\/(.+)$/, 'logged/{name}', '$1'],
] as const

/** Returns the pattern that declares a name, and the value of its placeholder. */
function patternOf(name: string): { readonly pattern: string; readonly own: string } {
  for (const [form, pattern, own] of patterns)
    if (form.test(name)) return { pattern: name.replace(form, pattern), own: name.replace(form, own) }
  return { pattern: name, own: '' }
}

/** Label of a concrete metric; its name if there is no such metric. */
export const metricLabel = (name: string): string =>
  findDeclaration(name)?.label.replace(/\{\w+\}/, () => patternOf(name).own) ?? name

export function declarationOf(name: MetricName): MetricDeclaration {
  const declaration = findDeclaration(name)
  if (!declaration) throw new Error(`Expected a declared metric, got ${name}.`)
  return declaration
}
