/** Evaluations: a model, an adapter or a checkpoint on rows of a data set or in an environment, kept and compared. */
import { z } from 'zod'
import type { RunConfig } from '../runConfig.ts'
import { count, cursor, digest, failure, instant, path, row, runId } from './common.ts'
import { command, feed, query } from './contract.ts'

const evaluationId = z.string().regex(/^ev_[0-9a-f-]{36}$/)

/** `interrupted`: its process died; like a stopped one it can go on. */
const status = z.enum(['waiting', 'running', 'finished', 'stopped', 'failed', 'interrupted'])

/** Sections of a run config that say how a checkpoint is asked and judged; the others train. */
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
  /** A checkpoint of a run; `step` null: the model it began with, without an adapter. */
  z.strictObject({ runId, step: count.nullable() }),
  /** `adapter`: a folder; null: the model alone. */
  z.strictObject({ model: path, adapter: path.nullable() }),
])

const passAt = z.number().nullable()

const request = z.strictObject({
  subject,
  /**
   * Sections of a run config, whose parser is the judge of them. Rows are those of `data.heldOut` where it is given, else
   * of `data.train`. Of a run's checkpoint what is not given is as in the run.
   */
  config: z.record(z.string(), z.unknown()).default({}),
  /** Completions of each prompt, or episodes of each row; an episode of a workflow may come to several trajectories. */
  samples: z.int().min(1).max(1024).default(1),
  /** Always the likeliest token; absent: with one sample. */
  greedy: z.boolean().optional(),
  /** So many rows, drawn with the seed; null: all. */
  limit: z.int().min(1).nullable().default(null),
  /** The least reward that passes; null: what the metric `correct` says where there is one, else 1. */
  passAt: passAt.default(null),
})

const estimate = z.object({
  value: z.number(),
  /** 95 %; null where nothing can be said: one prompt alone, or none that differs, with rewards other than 0 and 1. */
  interval: z.object({ low: z.number(), high: z.number() }).nullable(),
})

const pass = z.object({ k: count, ...estimate.shape })

const summary = z.object({
  /** With a reward: the unit of all means. */
  prompts: count,
  samples: count,
  /** Samples without a reward, and failures of rewards with the first in words. */
  unscored: count,
  failures: count,
  failure: z.string().nullable(),
  /** Rows that made no prompt, with the first reason. */
  leftOut: count,
  problem: z.string().nullable(),
  /** Mean over prompts of the mean of their samples. */
  reward: estimate.nullable(),
  /** What passes: the metric `correct`, or at least so large a reward. */
  passRule: z.union([z.literal('correct'), z.number()]),
  /** Of a prompt's samples, k drawn: the chance that one passes. */
  pass: z.array(pass),
  /** Shares and means over samples. */
  truncated: z.number().nullable(),
  tokens: z.number().nullable(),
  turns: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()),
  /** Means of the numbers that rewards, environment and workflow logged; absent in the summary of an older version. */
  metrics: z.record(z.string(), z.number().nullable()).optional(),
})

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

const entry = z.object({
  id: z.string(),
  /** What is evaluated, in a few words. */
  title: z.string(),
  createdAt: instant,
  endedAt: instant.nullable(),
  status,
  runId: z.string().nullable(),
  step: count.nullable(),
  model: z.string(),
  adapter: z.string().nullable(),
  /** What it is asked and judged by. */
  config: z.custom<Pick<RunConfig, (typeof evaluatedSections)[number]>>(isObject),
  samples: count,
  greedy: z.boolean(),
  limit: count.nullable(),
  passAt,
  /** Of rewards, environment and workflow with their code and settings. */
  judge: digest,
  /** Prompts. */
  done: count,
  total: count,
  /** At the pace so far; null where nothing is known, or nothing is left. */
  secondsLeft: z.number().nullable(),
  /** null while it goes on. */
  summary: summary.nullable(),
  error: failure.nullable(),
})

const sample = z.object({
  completion: z.string(),
  reward: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()),
  tokens: count,
  truncated: z.boolean(),
  /** null for a single completion. */
  turns: count.nullable(),
  metrics: z.record(z.string(), z.number()).optional(),
  logged: z.record(z.string(), z.unknown()).optional(),
  failures: z.array(z.string()).optional(),
})

/** A row with what was answered and earned. */
export const evaluatedPrompt = z.object({
  /** Its number in the data, from 0. */
  row: count,
  columns: row,
  prompt: z.string(),
  samples: z.array(sample),
})

/** A row that made no prompt. */
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
  /** What it comes to, in a sentence. */
  words: z.string(),
  /** What else is to be known, a sentence each. */
  notes: z.array(z.string()),
  method: z.enum(['paired', 'unpaired']).nullable(),
  /** Of the mean rewards, B − A. */
  difference: z.number().nullable(),
  interval: estimate.shape.interval,
  pValue: z.number().nullable(),
  /** On which both have a reward. */
  prompts: count,
})

const one = z.object({ id: evaluationId })

export const evaluationsApi = {
  /** The newest first. */
  list: query(z.object({ runId: runId.optional() }), z.array(entry)),
  get: query(one, entry),
  /** Rows with their samples, in the order of the rows. */
  prompts: query(
    one.extend({ from: count.default(0), count: z.int().min(1).max(200).default(50) }),
    z.object({ total: count, prompts: z.array(evaluatedPrompt) }),
  ),
  /** By the values of a column of the rows, the largest groups first; without a column only which there are. */
  groups: query(
    one.extend({ column: z.string().nullable() }),
    z.object({ columns: z.array(z.string()), groups: z.array(group) }),
  ),
  /** Whether B is better than A. */
  compare: query(z.object({ a: evaluationId, b: evaluationId }), comparison),
  /** The sections of a run's config that its evaluations begin with. */
  sectionsOf: query(z.object({ runId }), entry.shape.config),
  /** Makes an evaluation, which begins when those before it are over, whether anybody looks or not. */
  start: command(request, z.object({ id: z.string() })),
  /** Keeps what is done. */
  stop: command(one, z.void()),
  /** Goes on with the prompts that are not done. */
  resume: command(one, z.void()),
  /** For good, with its samples; refused while it goes on. */
  delete: command(one, z.void()),
  watch: feed(z.void(), z.object({ cursor })),
}

export type EvaluationRequest = z.output<typeof request>
export type EvaluationEntry = z.output<typeof entry>
export type EvaluationSummary = z.output<typeof summary>
export type EvaluatedPrompt = z.output<typeof evaluatedPrompt>
export type EvaluationGroup = z.output<typeof group>
export type Comparison = z.output<typeof comparison>
