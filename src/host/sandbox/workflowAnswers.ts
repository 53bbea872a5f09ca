/** Reads the answers of a workflow's episode (workflowHarness.ts), trusting nothing. */
import { callNames } from '#shared/api/workflows.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { z } from 'zod'
import { type AskedRequest, episodeLimits, type EpisodeStep } from '#rl/rollout/workflow.ts'
import { type Failed, type Logged, logged, misshapen, readFailure } from './answers.ts'

/** Progress of an episode, with the lines that its code printed. */
export type EpisodeAnswer = (Exclude<EpisodeStep, { failure: unknown }> & Logged) | Failed

const count = (most: number) => z.int().min(1).max(most)
const id = z.int().min(0)
const ids = z.array(id)
const message = z.looseObject({ role: z.string(), content: z.string() })
const observation = z.union([z.string(), z.array(message)])
const row = z.record(z.string(), z.unknown())

const requestSchema = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('generate'),
      ids: ids.optional(),
      messages: z.array(message).min(1).optional(),
      samples: count(episodeLimits.samples).optional(),
      greedy: z.boolean().optional(),
      temperature: z.number().positive().max(100).optional(),
      topK: z.int().min(0).optional(),
      topP: z.number().gt(0).max(1).optional(),
      minP: z.number().min(0).max(1).optional(),
      repetitionPenalty: z.number().positive().max(100).optional(),
      tools: z.array(z.looseObject({})).min(1).max(128).optional(),
      minNewTokens: z.int().min(0).optional(),
      maxNewTokens: count(episodeLimits.tokens).optional(),
      stop: z.array(z.string().min(1)).max(64).optional(),
      stopIds: ids.max(1024).optional(),
    })
    .refine((asked) => (asked.ids === undefined) !== (asked.messages === undefined), {
      error: 'takes either `ids` or `messages`',
    }),
  z.strictObject({
    kind: z.literal('rewards'),
    of: z
      .array(z.strictObject({ completion: z.string(), prompt: z.string().optional(), row: row.optional() }))
      .min(1)
      .max(episodeLimits.samples),
  }),
  z.strictObject({ kind: z.literal('reset') }),
  z.strictObject({ kind: z.literal('step'), state: z.unknown(), action: z.string(), ids: ids.min(1) }),
  z.strictObject({ kind: z.literal('prompt'), messages: z.array(message).min(1) }),
  z.strictObject({ kind: z.literal('reply'), ids: ids.min(1), message: observation }),
])

const textSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('encode'), text: z.string() }),
  z.strictObject({ kind: z.literal('decode'), ids }),
])

const reward = z.number().nullable()
const tokensSchema = z.strictObject({
  ids,
  actions: z.union([z.array(z.union([z.literal([0, 1]), z.boolean()])), z.array(z.tuple([id, id]))], {
    error: 'must be a list of 0 and 1, one for each id, or a list of [start, end]',
  }),
})
const restSchema = z.strictObject({
  reward: z
    .union(
      [
        reward,
        z
          .object({ total: reward, parts: z.record(z.string(), reward), failures: z.array(z.string()) })
          .partial({ parts: true, failures: true }),
      ],
      { error: 'must be a number, null or an answer of tools.rewards' },
    )
    .optional(),
  turnRewards: z.array(reward).optional(),
  tokenRewards: z.array(reward).optional(),
  baseline: reward.optional(),
  group: z.union([z.string(), z.number()]).optional(),
  truncated: z.boolean().optional(),
  columns: z.record(z.string(), z.unknown()).optional(),
  metrics: z.record(z.string(), z.number()).optional(),
})

const stepSchema = z.union([
  z.object({ requests: z.array(z.string()).min(1), ...logged }),
  z.object({ asksText: z.string(), ...logged }),
  z.object({
    trajectories: z
      .array(z.object({ tokens: z.unknown(), rest: z.unknown() }))
      .max(episodeLimits.trajectories)
      .nullable(),
    ...logged,
  }),
])

export function readEpisode(text: string): EpisodeAnswer {
  const json = parsedJson(text)
  const result = stepSchema.safeParse(json)
  if (!result.success) return readFailure(json)
  const { columns, metrics, lines } = result.data
  const rest = { columns, metrics, lines }
  if ('requests' in result.data) return readRequests(result.data.requests, rest)
  if ('asksText' in result.data) {
    const { asksText: text } = result.data
    const ask = textSchema.safeParse(parsedJson(text))
    if (!ask.success) return misshapen(ask.error, callName(parsedJson(text)))
    return { asksText: { text, ask: ask.data }, ...rest }
  }
  if (result.data.trajectories === null) return { trajectories: null, ...rest }
  const trajectories = []
  for (const given of result.data.trajectories) {
    const tokens = tokensSchema.safeParse(given.tokens)
    if (!tokens.success) return misshapen(tokens.error, 'The trajectory')
    const own = restSchema.safeParse(given.rest)
    if (!own.success) return misshapen(own.error, 'The trajectory')
    trajectories.push({ ...tokens.data, ...own.data })
  }
  return { trajectories, ...rest }
}

function readRequests(texts: readonly string[], rest: Logged): EpisodeAnswer {
  const requests: AskedRequest[] = []
  for (const text of texts) {
    const request = requestSchema.safeParse(parsedJson(text))
    if (!request.success) return misshapen(request.error, callName(parsedJson(text)))
    requests.push({ text, request: request.data })
  }
  return { requests, ...rest }
}

function callName(json: unknown): string {
  const { kind } = z
    .object({ kind: z.enum(Object.keys(callNames) as (keyof typeof callNames)[]) })
    .catch({ kind: 'generate' })
    .parse(json)
  return callNames[kind]
}
