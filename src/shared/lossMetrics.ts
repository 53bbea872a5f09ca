/** The metrics that losses report, as rows of the table in `metrics.ts`; an algorithm knows no others. */

/** Metrics of learning from given answers. */
export const answers = {
  perplexity: [
    'Perplexity',
    'number',
    'lower',
    'Exponential of the mean negative log-probability of the answers shown; 1 is perfect.',
    {
      panel: 'overview',
      line: 'training',
      also: [['eval_perplexity', 'eval']],
      size: 'wide',
      expected: ['demonstrations'],
    },
  ],
  'rewards/accuracies': [
    'Preference accuracy',
    'share',
    'higher',
    'Share of pairs whose chosen answer has the higher implicit reward.',
    {
      compared: true,
      panel: 'overview',
      line: 'training',
      also: [['eval_rewards/accuracies', 'eval']],
      size: 'wide',
      include: [0, 1],
      expected: ['preferences'],
    },
  ],
  'rewards/margins': [
    'Reward margin',
    'nats',
    'higher',
    'Implicit reward of the chosen answers minus that of the rejected ones.',
    {
      compared: true,
      panel: 'overview',
      line: 'training',
      also: [['eval_rewards/margins', 'eval']],
      size: 'wide',
      include: [0],
      expected: ['preferences'],
    },
  ],
} as const

/** Metrics of the policy, whatever it learns from. */
export const policies = {
  entropy: [
    'Entropy',
    'nats',
    'none',
    'Mean uncertainty of the policy per token; a steady fall to 0 means it stops exploring.',
    { compared: true, panel: 'overview', include: [0], expected: ['rollout'] },
  ],
  surprisal: [
    'Surprisal',
    'nats',
    'none',
    'Mean negative log-probability of the chosen tokens; estimates the entropy.',
  ],
  kl: [
    'KL',
    'nats',
    'none',
    'Divergence from the reference policy per token, as klEstimator estimates it; REINFORCE, RLOO, ReMax: mean log-ratio; REINFORCE++: k2.',
    { compared: true, panel: 'overview', include: [0] },
  ],
  divergence: [
    'Divergence from the teacher',
    'nats',
    'lower',
    'GKD: mean divergence of the distributions of the next token, which is the loss.',
  ],
  teacher_coverage: [
    'Teacher’s tokens compared',
    'share',
    'none',
    'GKD: probability that the teacher gives to the tokens that are compared one by one.',
  ],
  'kl/clamped': [
    'Clamped KL estimates',
    'share',
    'lower',
    'Share of tokens whose estimate is above klClamp: the KL term leaves them out.',
  ],
} as const

/** Metrics of the update. */
export const losses = {
  'clip_ratio/region_mean': [
    'Clip fraction',
    'share',
    'none',
    'Share of tokens outside either clip bound.',
    { compared: true, panel: 'overview', line: 'share', include: [0], expected: ['rollout'] },
  ],
  'clip_ratio/low_mean': [
    'Clip fraction, low',
    'share',
    'none',
    'Share of tokens whose ratio fell below the lower clip bound.',
  ],
  'clip_ratio/high_mean': [
    'Clip fraction, high',
    'share',
    'none',
    'Share of tokens whose ratio rose above the upper clip bound.',
  ],
  'rewards/chosen': [
    'Implicit reward, chosen',
    'nats',
    'higher',
    'How much more likely the chosen answers are than under the reference: β × log-ratio; ORPO, SimPO: β × mean log-probability of a token.',
    {
      panel: 'overview',
      title: 'Implicit reward',
      line: 'chosen',
      also: [['rewards/rejected', 'rejected']],
      include: [0],
      expected: ['preferences', 'marks'],
    },
  ],
  'rewards/rejected': ['Implicit reward, rejected', 'nats', 'lower', 'The same for the rejected answers.'],
  'logps/chosen': [
    'Logprob, chosen',
    'nats',
    'none',
    'Mean log-probability of whole chosen answers.',
    { panel: 'overview', title: 'Logprob', line: 'chosen', also: [['logps/rejected', 'rejected']] },
  ],
  'logps/rejected': ['Logprob, rejected', 'nats', 'none', 'Mean log-probability of whole rejected answers.'],
  reference_point: [
    'Reference point',
    'nats',
    'none',
    'KTO: mean log-ratio to the reference of answers after prompts of other rows, at least 0; answers count as gains above it.',
    { panel: 'overview', include: [0] },
  ],
  loss: [
    'Loss',
    'number',
    'none',
    'What the update minimised. In policy-gradient training, its value says little.',
    { compared: true },
  ],
  policy_loss: ['Policy loss', 'number', 'none', 'The part of the loss that comes from rewards.'],
  value_loss: [
    'Value loss',
    'number',
    'lower',
    'How far the critic was from the returns.',
    { panel: 'overview', include: [0] },
  ],
  'value/explained_variance': [
    'Explained variance',
    'share',
    'higher',
    'Share of the returns’ variance that the critic explains: 1 is all, 0 is no better than their mean.',
    { panel: 'overview', line: 'share', include: [0, 1] },
  ],
} as const

export type LossMetricName = keyof typeof answers | keyof typeof policies | keyof typeof losses
