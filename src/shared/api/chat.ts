/** Conversations with a model: stored on this machine, answered by one base with an adapter per column. */
import { z } from 'zod'
import { heldPrecisions } from '../precision.ts'
import { conversationId, count, cursor, failure, instant, name, path } from './common.ts'
import { command, feed, query, stream } from './contract.ts'
import { adapter, candidate, sampling } from './models.ts'

export const maxColumns = 4
/** Number of most probable tokens stored for each token of an answer. */
export const keptAlternatives = 5

const text = z.string().max(200_000)
const system = z.string().max(100_000)
/** Descriptions of functions that the model may call, as OpenAI's API has them. */
const tools = z.array(z.record(z.string(), z.unknown())).max(128)

export const chatSampling = sampling.omit({ seed: true }).extend({
  seed: z.int().min(0).nullable().default(null).meta({
    description: 'The same seed and messages give the same answer.',
    empty: 'a new one for every answer',
  }),
})

/** Adapter of each column; null: the base alone. */
const columns = z.array(adapter.nullable()).min(1).max(maxColumns)

const answer = z.object({
  /** Names the file of the answer's tokens. */
  id: z.string(),
  /** Model that wrote it, which may differ from the column's current one. */
  by: candidate,
  text: z.string(),
  /** Calls of the conversation's tools; `arguments`: JSON text. */
  calls: z.array(z.object({ name: z.string(), arguments: z.string() })).default([]),
  promptTokens: count,
  tokens: count,
  seed: count,
  tokensPerSecond: z.number().nullable(),
  /** `stopped`: by the user, or because the window closed; `edited`: written by the user. */
  stopReason: z.enum(['stop-id', 'stop-string', 'length', 'stopped', 'edited', 'failed']),
  error: failure.nullable(),
})

const turn = z.object({
  user: text,
  /** One per column; null: not answered there, so that the conversation goes on with the first answer of the turn. */
  answers: z.array(answer.nullable()),
})

const conversation = z.object({
  id: conversationId,
  title: name,
  createdAt: instant,
  updatedAt: instant,
  /** Base model: its name in the list, or a path. */
  model: path,
  /** Precision of the weights; null: that of the adapters' training, else f32. */
  base: z.enum(heldPrecisions).nullable(),
  columns,
  /** Empty: none. */
  system,
  tools: tools.default([]),
  sampling: chatSampling,
  turns: z.array(turn),
})

export const conversationSchema = conversation
export type Conversation = z.infer<typeof conversation>
export type ChatTurn = z.infer<typeof turn>
export type ChatAnswer = z.infer<typeof answer>

const summary = z.union([
  conversation
    .pick({ id: true, title: true, updatedAt: true, model: true, columns: true })
    .extend({ turns: count }),
  z.object({ id: z.string(), problem: z.string() }),
])

const tokenLogprob = z.object({
  id: count,
  text: z.string(),
  /** Natural logarithm of the probability at the sampling temperature, before any filter. */
  logprob: z.number(),
})

export const answerToken = tokenLogprob.extend({ top: z.array(tokenLogprob) })

/** Memory that the base needs, and whether it is available. */
const room = z.object({
  base: z.enum(heldPrecisions),
  /** Bytes of the weights, and of the keys and values of one conversation that fills the context. */
  weightBytes: count,
  contextBytes: count,
  availableBytes: count,
  totalBytes: count,
  contextLength: count,
  hasChatTemplate: z.boolean(),
  /** Reason why it cannot be used, or null. */
  problem: z.string().nullable(),
  state: z.enum(['closed', 'opening', 'open']),
})

export const chatApi = {
  /** Last changed first. */
  list: query(z.void(), z.array(summary)),
  get: query(z.object({ id: conversationId }), conversation),
  create: command(
    z.object({
      model: path,
      columns: columns.default([null]),
      system: system.default(''),
      tools: tools.default([]),
      sampling: chatSampling.prefault({}),
      base: z.enum(heldPrecisions).nullable().default(null),
    }),
    conversation,
  ),
  /** Changes the given fields. Existing answers stay as they are. */
  update: command(
    z.object({
      id: conversationId,
      title: name.optional(),
      model: path.optional(),
      base: z.enum(heldPrecisions).nullable().optional(),
      /** `was`: column whose answers it continues; null: a new column. */
      columns: z
        .array(z.object({ adapter: adapter.nullable(), was: count.nullable() }))
        .min(1)
        .max(maxColumns)
        .optional(),
      system: system.optional(),
      tools: tools.optional(),
      sampling: chatSampling.optional(),
    }),
    conversation,
  ),
  delete: command(z.object({ id: conversationId }), z.void()),
  /** Replaces the text of an answer, and labels what the model wrote with it (labels.ts). */
  editAnswer: command(z.object({ id: conversationId, turn: count, column: count, text }), conversation),
  /**
   * Answers a turn in some or all columns; turns after it are removed. `text`: the new message; without it the turn is
   * answered again. An index one past the last adds a turn. Leaving the stream stops the answers, which are kept.
   */
  answer: stream(
    z.object({
      id: conversationId,
      turn: count,
      text: text.optional(),
      columns: z.array(count).min(1).optional(),
    }),
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('opening') }),
      z.object({ type: z.literal('begun'), column: count, promptTokens: count }),
      /** Text added, and the number of tokens so far. */
      z.object({ type: z.literal('text'), column: count, text: z.string(), tokens: count }),
      z.object({ type: z.literal('done'), column: count, answer }),
    ]),
  ),
  /** Tokens of an answer with the most probable alternatives at each position; empty if it was edited. */
  tokens: query(z.object({ id: conversationId, answerId: z.uuid() }), z.array(answerToken)),
  room: query(conversation.pick({ model: true, base: true, columns: true }), room),
  /** Ends the process of a model that is not writing an answer. */
  close: command(z.void(), z.void()),
  watch: feed(z.void(), z.object({ cursor })),
}
