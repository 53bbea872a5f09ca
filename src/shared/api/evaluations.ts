/** Evaluations: a model, an adapter or a checkpoint on rows of a data set or in an environment, stored and compared. */
import { z } from 'zod'
import { plural } from '../plural.ts'
import type { RunConfig } from '../runConfig.ts'
import { count, cursor, digest, estimate, failure, instant, path, row, runId } from './common.ts'
import { command, feed, query } from './contract.ts'

const evaluationId = z.string().regex(/^ev_[0-9a-f-]{36}$/)

/** `interrupted`: its process died; like a stopped one it can be resumed. */
const status = z.enum(['waiting', 'running', 'finished', 'stopped', 'failed', 'interrupted'])

/** Sections of a run config that define prompts, sampling and rewards; the others concern training. */
export const evaluatedSections = [
  ...[
    'model',
    'contextLength',
    'base',
    'data',
    'rewards',
    'environment',
    'rewardFailures',
    'rewardLimits',
    'python',
  ],
  ...['rollout', 'seed', 'device'],
] as const

const subject = z.union([
  /** Checkpoint of a run; `step` null: its initial model, without an adapter. */
  z.strictObject({ runId, step: count.nullable() }),
  /** `adapter`: a folder; null: the model alone. */
  z.strictObject({ model: path, adapter: path.nullable() }),
])

const passAt = z.number().nullable()

/** Settings that forms and the command line show. */
export const evaluationSettings = z.object({
  /** An episode of a workflow may yield several trajectories. */
  samples: z.int().min(1).max(1024).default(1).meta({
    label: 'Samples per prompt',
    description: 'The largest k of pass@k.',
    flags: '--samples <K>',
    phrase: 'completions per prompt, or episodes per row',
  }),
  limit: z.int().min(1).nullable().default(null).meta({
    label: 'Number of rows',
    description: 'Fewer are drawn at random, the same ones every time.',
    empty: 'all',
    flags: '--limit <N>',
    phrase: 'number of rows, drawn with the seed; with an environment and no data, of episodes',
  }),
  passAt: passAt.default(null).meta({
    label: 'Pass from reward',
    description: 'Smallest reward that counts as a pass.',
    empty: 'the metric correct, else 1',
    flags: '--pass-at <REWARD>',
    phrase: 'smallest reward that passes (default: the metric correct, else 1)',
  }),
})

const request = evaluationSettings
  .extend({
    subject,
    /**
     * Sections of a run config, validated by its parser. Rows are those of `data.heldOut` if given, else of `data.train`.
     * For a run's checkpoint, omitted sections are taken from the run.
     */
    config: z.record(z.string(), z.unknown()).default({}),
    /** Always take the most probable token; absent: only with one sample. */
    greedy: z.boolean().optional(),
  })
  .strict()

const pass = z.object({ k: count, ...estimate.shape })

const summary = z.object({
  /** Number of prompts with a reward, the unit of all means. */
  prompts: count,
  samples: count,
  /** Samples without a reward, and failures of rewards with the first in words. */
  unscored: count,
  failures: count,
  failure: z.string().nullable(),
  /** Rows that made no prompt, with the first reason. */
  leftOut: count,
  problem: z.string().nullable(),
  /** Mean over prompts of the mean over samples. */
  reward: estimate.nullable(),
  /** Pass criterion: the metric `correct`, or the smallest reward. */
  passRule: z.union([z.literal('correct'), z.number()]),
  /** Chance that at least one of k samples of a prompt passes. */
  pass: z.array(pass),
  /** Fractions and means over samples. */
  truncated: z.number().nullable(),
  tokens: z.number().nullable(),
  turns: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()),
  /** Means of the numbers that rewards, environment and workflow logged; absent in summaries of older versions. */
  metrics: z.record(z.string(), z.number().nullable()).optional(),
})

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

const entry = z.object({
  id: z.string(),
  /** Short description of the model. */
  title: z.string(),
  createdAt: instant,
  endedAt: instant.nullable(),
  status,
  runId: z.string().nullable(),
  step: count.nullable(),
  model: z.string(),
  adapter: z.string().nullable(),
  /** Sections that define prompts, sampling and rewards. */
  config: z.custom<Pick<RunConfig, (typeof evaluatedSections)[number]>>(isObject),
  samples: count,
  greedy: z.boolean(),
  limit: count.nullable(),
  passAt,
  /** Digest of rewards, environment and workflow with their code and settings. */
  judge: digest,
  /** Numbers of prompts. */
  done: count,
  total: count,
  /** Remaining time at the current pace; null if unknown, or if nothing is left. */
  secondsLeft: z.number().nullable(),
  /** Null while it is running. */
  summary: summary.nullable(),
  error: failure.nullable(),
})

const sample = z.object({
  completion: z.string(),
  reward: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()),
  tokens: count,
  truncated: z.boolean(),
  /** Null for a single completion. */
  turns: count.nullable(),
  metrics: z.record(z.string(), z.number()).optional(),
  logged: z.record(z.string(), z.unknown()).optional(),
  failures: z.array(z.string()).optional(),
})

/** A row with its answers and rewards. */
export const evaluatedPrompt = z.object({
  /** Index in the data, from 0. */
  row: count,
  columns: row,
  prompt: z.string(),
  samples: z.array(sample),
})

export const rowProblem = z.object({ row: count, problem: z.string() })

const group = z.object({
  value: z.string(),
  prompts: count,
  reward: estimate.nullable(),
  /** pass@1 */
  pass: z.number().nullable(),
})

const comparison = z.object({
  verdict: z.enum(['better', 'worse', 'alike', 'refused']),
  /** Conclusion in one sentence. */
  words: z.string(),
  /** Further remarks, one sentence each. */
  notes: z.array(z.string()),
  method: z.enum(['paired', 'unpaired']).nullable(),
  /** Difference of the mean rewards, B − A. */
  difference: z.number().nullable(),
  interval: estimate.shape.interval,
  pValue: z.number().nullable(),
  /** Number of prompts on which both have a reward. */
  prompts: count,
})

const one = z.object({ id: evaluationId })

export const evaluationsApi = {
  list: query(z.object({ runId: runId.optional() }), z.array(entry)),
  get: query(one, entry),
  /** Returns rows with their samples, in row order. */
  prompts: query(
    one.extend({ from: count.default(0), count: z.int().min(1).max(200).default(50) }),
    z.object({ total: count, prompts: z.array(evaluatedPrompt) }),
  ),
  /** Means by the values of a column, largest groups first; without a column, only the available columns. */
  groups: query(
    one.extend({ column: z.string().nullable() }),
    z.object({ columns: z.array(z.string()), groups: z.array(group) }),
  ),
  /** Tests whether B is better than A. */
  compare: query(z.object({ a: evaluationId, b: evaluationId }), comparison),
  /** Returns the config sections of a run, the defaults of its evaluations. */
  sectionsOf: query(z.object({ runId }), entry.shape.config),
  /** Starts an evaluation after those before it, whether anybody watches or not. */
  start: command(request, z.object({ id: z.string() })),
  /** Stops and keeps finished prompts. */
  stop: command(one, z.void()),
  resume: command(one, z.void()),
  /** Deletes it and its samples permanently; refused while it is running. */
  delete: command(one, z.void()),
  watch: feed(z.void(), z.object({ cursor })),
}

/** Says in sentences which samples and rows an evaluation is without. */
export function evaluationProblems({
  unscored,
  failures,
  failure,
  leftOut,
  problem,
}: Pick<EvaluationSummary, 'unscored' | 'failures' | 'failure' | 'leftOut' | 'problem'>): string[] {
  return [
    ...(unscored === 0
      ? []
      : [`${plural(unscored, 'sample has', 'samples have')} no reward and are left out.`]),
    ...(failures === 0 ? [] : [`A reward failed ${plural(failures, 'time')}. ${failure ?? ''}`]),
    ...(leftOut === 0 ? [] : [`${plural(leftOut, 'row gives', 'rows give')} no prompt. ${problem ?? ''}`]),
  ]
}

export type EvaluationRequest = z.output<typeof request>
export type EvaluationEntry = z.output<typeof entry>
export type EvaluationSummary = z.output<typeof summary>
export type EvaluatedPrompt = z.output<typeof evaluatedPrompt>
export type EvaluationGroup = z.output<typeof group>
export type Comparison = z.output<typeof comparison>
