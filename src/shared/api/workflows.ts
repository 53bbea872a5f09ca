/** Trial of custom workflows: one episode on one row, request by request. */
import { z } from 'zod'
import { isObject } from '../config/paths.ts'
import { count, digest, row } from './common.ts'
import { stream } from './contract.ts'
import { candidate } from './models.ts'
import { code } from './rewards.ts'
import { packed, tokenArrays } from './samples.ts'

/** Sections of a run config that define an episode; the others concern training, or are given separately. */
/** Names of requests in workflow code. */
export const callNames = {
  generate: 'engine.generate',
  rewards: 'tools.rewards',
  reset: 'tools.environment.reset',
  step: 'tools.environment.step',
  prompt: 'tools.prompt',
  reply: 'tools.reply',
  encode: 'tools.encode',
  decode: 'tools.decode',
} as const

const sections = [
  'data',
  'rewards',
  'environment',
  'rollout',
  'rewardLimits',
  'python',
  'seed',
  'device',
] as const

const number = count

const tokens = z.object({ ids: packed, texts: z.array(z.string()) })

const trajectory = z.object({
  /** Token arrays, in which a single reward is repeated for each action. */
  arrays: tokenArrays,
  reward: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()),
  /** Reward of each turn of the policy; empty without a reward. */
  turnRewards: z.array(z.number()),
  /** Reward of the answer it is compared with. */
  baseline: z.number().nullable(),
  /** Trajectories with the same number are compared with each other. */
  group: count,
  truncated: z.boolean(),
  logged: z.record(z.string(), z.unknown()),
  metrics: z.record(z.string(), z.number()),
  failures: z.array(z.string()),
})

/** Events of the episode as they happen. Requests are numbered from 0. */
const news = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('request'),
    number,
    /** Round, from 1, whose requests are answered together. */
    round: count,
    kind: z.enum(Object.keys(callNames) as (keyof typeof callNames)[]),
    /** Other fields of the request, without ids. */
    said: z.record(z.string(), z.unknown()),
    /** Ids of the request; null: it has none, or `prompt` has what the policy reads. */
    tokens: tokens.nullable(),
  }),
  /** Prompt of the policy, and its sampling; absent if the prompt leaves no room. */
  z.object({
    type: z.literal('prompt'),
    number,
    tokens,
    sampling: z.record(z.string(), z.unknown()),
  }),
  z.object({
    type: z.literal('completions'),
    number,
    completions: z.array(
      z.object({
        text: z.string(),
        tokens,
        /** f32, one per token, nats. */
        logprobs: packed,
        /** `context`: the prompt left no room. */
        finishReason: z.enum(['stop', 'length', 'context']),
      }),
    ),
  }),
  z.object({
    type: z.literal('answer'),
    number,
    answer: z.unknown(),
    /** Ids in the answer, which are left out of it. */
    tokens: tokens.nullable(),
  }),
  z.object({ type: z.literal('printed'), lines: z.array(z.string()) }),
  /** Place where the code failed; the end repeats it in a sentence. */
  z.object({
    type: z.literal('failed'),
    message: z.string(),
    line: count.nullable(),
    column: count.nullable(),
  }),
  z.object({
    type: z.literal('end'),
    end: z.enum(['returned', 'rejected', 'failed']),
    failure: z.string().nullable(),
    rounds: count,
    requests: count,
    trajectories: z.array(trajectory),
  }),
])

export type TrialNews = z.output<typeof news>

export const workflowsApi = {
  /** Plays one episode, the end last. The same input gives the same episode. */
  try: stream(
    z.strictObject({
      code,
      settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
      candidate,
      on: z.union([z.strictObject({ versionId: digest, row: count }), z.strictObject({ row })]),
      /** Plays greedily as in evaluation; else as in a training step. */
      isEvaluation: z.boolean().default(false),
      /** Same as in a run config, validated by its parser; `data` defines the conversion of the row to a prompt. */
      config: z
        .partialRecord(z.enum(sections), z.unknown())
        .default({})
        .refine(({ data }) => data === undefined || isObject(data), 'data is an object'),
    }),
    news,
  ),
}
