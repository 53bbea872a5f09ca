/**
 * Every number a run reports, declared once: charts, the command line and exports read label and unit from here.
 * Names are TRL's where it has one. A name with {function} stands for one metric per reward function,
 * one with {name} for whatever user code logs.
 */

export interface MetricDeclaration {
  readonly unit:
    'nats' | 'seconds' | 'tokens' | 'tokens/s' | 'share' | 'ratio' | 'reward' | 'count' | 'number'
  /** Which way is progress; none where neither is. */
  readonly better: 'higher' | 'lower' | 'none'
  readonly explanation: string
}

/** [unit, better, explanation] */
type Row = readonly [MetricDeclaration['unit'], MetricDeclaration['better'], string]

const table = {
  loss: [
    'number',
    'none',
    'What the update minimised. In policy-gradient training its level says little by itself.',
  ],
  policy_loss: ['number', 'none', 'The part of the loss that comes from rewards.'],
  value_loss: ['number', 'lower', 'How far the critic was from the returns.'],
  grad_norm: ['number', 'none', 'Length of the gradient before clipping; sudden peaks announce trouble.'],
  'grad_norm/critic': ['number', 'none', 'Length of the critic’s gradient before clipping.'],
  learning_rate: ['number', 'none', 'Learning rate of the last update of the step.'],
  epoch: ['number', 'none', 'Passes over the training prompts so far.'],
  num_tokens: ['tokens', 'none', 'Prompt and completion tokens of all rollouts so far.'],
  step_time: ['seconds', 'lower', 'Duration of the whole step.'],
  'time/rollout': ['seconds', 'lower', 'Time spent generating.'],
  'time/reward': ['seconds', 'lower', 'Time spent in reward functions.'],
  'time/score': ['seconds', 'lower', 'Time spent on forward passes before the first update.'],
  'time/update': ['seconds', 'lower', 'Time spent on gradients and optimizer.'],
  'rollout/tokens_per_second': ['tokens/s', 'higher', 'Generated tokens per second of rollout.'],
  'update/tokens_per_second': [
    'tokens/s',
    'higher',
    'Prompt and completion tokens learned from per second of update.',
  ],
  reward: ['reward', 'higher', 'Mean reward of the trajectories of the step.'],
  reward_std: [
    'reward',
    'none',
    'Spread of the reward in its group (without groups: in the step); 0 leaves nothing to learn.',
  ],
  frac_reward_zero_std: [
    'share',
    'lower',
    'Share of groups whose rewards are all equal: they teach nothing.',
  ],
  'rewards/{function}/mean': [
    'reward',
    'higher',
    'Mean of one reward function, unweighted, where it applies.',
  ],
  'rewards/{function}/std': ['reward', 'none', 'Standard deviation of one reward function over the step.'],
  'reward/unscored': ['count', 'lower', 'Trajectories to which no reward function applied.'],
  'reward/failures': ['count', 'lower', 'Calls of reward functions that failed.'],
  'reward/greedy_baseline': [
    'reward',
    'higher',
    'Mean reward of the greedy answers that completions are compared with.',
  ],
  'rollout/groups_turned_down': [
    'count',
    'lower',
    'Groups that taught nothing and were replaced by further prompts, where there were rounds left.',
  ],
  'logged/{name}': ['number', 'none', 'Mean of a number that reward functions log under this name.'],
  'completions/mean_length': ['tokens', 'none', 'Mean length of completions.'],
  'completions/min_length': ['tokens', 'none', 'Shortest completion.'],
  'completions/max_length': ['tokens', 'none', 'Longest completion.'],
  'completions/mean_terminated_length': [
    'tokens',
    'none',
    'Mean length of completions that ended by themselves.',
  ],
  'completions/min_terminated_length': ['tokens', 'none', 'Shortest completion that ended by itself.'],
  'completions/max_terminated_length': ['tokens', 'none', 'Longest completion that ended by itself.'],
  'completions/clipped_ratio': ['share', 'lower', 'Share of completions cut off by the length limit.'],
  'environment/turns': ['count', 'none', 'Mean number of turns the policy had in an episode.'],
  'environment/done_ratio': [
    'share',
    'higher',
    'Share of episodes the environment brought to their end; the others were cut off or failed.',
  ],
  'environment/context_limit_ratio': [
    'share',
    'lower',
    'Share of episodes that ended because the transcript had grown too long.',
  ],
  entropy: [
    'nats',
    'none',
    'Mean uncertainty of the policy per token; a steady fall to 0 means it stops exploring.',
  ],
  surprisal: ['nats', 'none', 'Mean negative log-probability of the chosen tokens; estimates the entropy.'],
  kl: [
    'nats',
    'none',
    'Divergence from the reference policy per token, as klEstimator estimates it; REINFORCE, RLOO, ReMax: mean log-ratio; REINFORCE++: k2.',
  ],
  'kl/clamped': [
    'share',
    'lower',
    'Share of tokens whose estimate is above klClamp: the KL term leaves them out.',
  ],
  perplexity: [
    'number',
    'lower',
    'Exponential of the mean negative log-probability of the answers shown; 1 is perfect.',
  ],
  'rewards/chosen': [
    'nats',
    'higher',
    'How much likelier the chosen answers are than under the reference: β × log-ratio.',
  ],
  'rewards/rejected': ['nats', 'lower', 'The same of the rejected answers.'],
  'rewards/margins': ['nats', 'higher', 'By how much the chosen answers gained on the rejected ones.'],
  'rewards/accuracies': [
    'share',
    'higher',
    'Share of pairs whose chosen answer gained more than the rejected one.',
  ],
  'logps/chosen': ['nats', 'none', 'Mean log-probability of the chosen answers, each as a whole.'],
  'logps/rejected': ['nats', 'none', 'Mean log-probability of the rejected answers, each as a whole.'],
  'clip_ratio/low_mean': ['share', 'none', 'Share of tokens whose ratio fell below the lower clip bound.'],
  'clip_ratio/high_mean': ['share', 'none', 'Share of tokens whose ratio rose above the upper clip bound.'],
  'clip_ratio/region_mean': ['share', 'none', 'Share of tokens outside either clip bound.'],
  'sampling/sampling_logp_difference/mean': [
    'nats',
    'lower',
    'Mean gap between recorded and re-scored log-probabilities.',
  ],
  'sampling/sampling_logp_difference/max': [
    'nats',
    'lower',
    'Largest gap between recorded and re-scored log-probabilities.',
  ],
  'sampling/importance_sampling_ratio/min': [
    'ratio',
    'none',
    'Smallest learner-to-sampler probability ratio.',
  ],
  'sampling/importance_sampling_ratio/mean': [
    'ratio',
    'none',
    'Mean learner-to-sampler probability ratio; 1 is ideal.',
  ],
  'sampling/importance_sampling_ratio/p95': [
    'ratio',
    'none',
    'Learner-to-sampler ratio that 95 % of the tokens stay below.',
  ],
  'sampling/importance_sampling_ratio/capped': [
    'share',
    'lower',
    'Share of tokens whose ratio reached the cap.',
  ],
  'sampling/server_logp_difference/mean': [
    'nats',
    'lower',
    'Mean gap between the log-probabilities of the rollout server and our own, on some completions of the step.',
  ],
  'sampling/server_logp_difference/max': [
    'nats',
    'lower',
    'Largest gap between the log-probabilities of the rollout server and our own, on those completions.',
  ],
  'sampling/server_missing_logprobs': [
    'count',
    'lower',
    'Tokens of which the rollout server gave no log-probability; our own stands in.',
  ],
  'rollout/server_retries': ['count', 'lower', 'Requests to the rollout server that were made again.'],
  'rollout/server_adapters': ['count', 'none', 'Versions of the adapter that the rollout server holds.'],
  'sampling/rows_skipped': ['count', 'lower', 'Trajectories without a complete record of the sampler.'],
  'value/explained_variance': [
    'share',
    'higher',
    'How much of the spread of the returns the critic foresaw: 1 is all, 0 no better than their mean.',
  ],
  'update/trajectories': ['count', 'none', 'Trajectories that took part in the update.'],
  'update/count': ['count', 'none', 'Optimizer updates of the step.'],
  eval_reward: ['reward', 'higher', 'Mean reward on held-out rows with greedy decoding.'],
  'eval_rewards/{function}/mean': ['reward', 'higher', 'Mean of one reward function on held-out rows.'],
  'eval_completions/mean_length': ['tokens', 'none', 'Mean length of held-out completions.'],
  'eval_completions/clipped_ratio': [
    'share',
    'lower',
    'Share of held-out completions cut off by the length limit.',
  ],
  eval_loss: ['number', 'lower', 'Loss on held-out rows.'],
  eval_perplexity: [
    'number',
    'lower',
    'Exponential of the mean negative log-probability of held-out answers; 1 is perfect.',
  ],
  eval_surprisal: ['nats', 'lower', 'Mean negative log-probability of the tokens of held-out answers.'],
  'eval_rewards/chosen': ['nats', 'higher', 'The same as rewards/chosen, on held-out pairs.'],
  'eval_rewards/rejected': ['nats', 'lower', 'The same as rewards/rejected, on held-out pairs.'],
  'eval_rewards/margins': [
    'nats',
    'higher',
    'By how much held-out chosen answers gained on the rejected ones.',
  ],
  'eval_rewards/accuracies': [
    'share',
    'higher',
    'Share of held-out pairs whose chosen answer gained more than the rejected one.',
  ],
  'eval_logps/chosen': ['nats', 'higher', 'Mean log-probability of held-out chosen answers.'],
  'eval_logps/rejected': ['nats', 'none', 'Mean log-probability of held-out rejected answers.'],
  eval_time: ['seconds', 'lower', 'Duration of the evaluation.'],
} as const satisfies Record<string, Row>

type Expanded<Name extends string> = Name extends `${infer Head}{${string}}${infer Tail}`
  ? `${Head}${string}${Tail}`
  : Name

export type MetricName = Expanded<keyof typeof table>
export type Metrics = Readonly<Partial<Record<MetricName, number>>>

/** Every declared metric, by name or by pattern. */
export const metricDeclarations: ReadonlyMap<string, MetricDeclaration> = new Map(
  Object.entries(table).map(([name, [unit, better, explanation]]) => [name, { unit, better, explanation }]),
)

/** The declaration of a concrete metric, such as rewards/exact-match/mean; undefined where there is no such metric. */
export function findDeclaration(name: string): MetricDeclaration | undefined {
  const pattern = name
    .replace(/^((?:eval_)?rewards)\/.*\/(mean|std)$/, '$1/{function}/$2')
    .replace(/^logged\/.+$/, 'logged/{name}')
  return metricDeclarations.get(name) ?? metricDeclarations.get(pattern)
}

export function declarationOf(name: MetricName): MetricDeclaration {
  const declaration = findDeclaration(name)
  if (!declaration) throw new Error(`Expected a declared metric, got ${name}.`)
  return declaration
}
