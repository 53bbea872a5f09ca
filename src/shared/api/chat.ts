/** Conversations with a model: kept on this machine, answered by one base with an adapter for each column. */
import { z } from 'zod'
import { heldPrecisions } from '../precision.ts'
import { count, cursor, failure, instant, name, path } from './common.ts'
import { command, feed, query, stream } from './contract.ts'
import { adapter, candidate, sampling } from './models.ts'

const conversationId = z.string().regex(/^chat_[0-9a-f-]{36}$/)

/** So many answers side by side. */
export const maxColumns = 3
/** Most probable tokens that are kept beside each token of an answer. */
export const keptAlternatives = 5

const text = z.string().max(200_000)
const system = z.string().max(100_000)

const chatSampling = sampling.omit({ seed: true }).extend({
  /** null: a new one for every answer. */
  seed: z.int().min(0).nullable().default(null),
})

/** What stands in a column; null: the base alone. */
const columns = z.array(adapter.nullable()).min(1).max(maxColumns)

const answer = z.object({
  /** Names the file of its tokens. */
  id: z.string(),
  /** Who wrote it, which may be another than stands in its column now. */
  by: candidate,
  text: z.string(),
  promptTokens: count,
  tokens: count,
  seed: count,
  tokensPerSecond: z.number().nullable(),
  /** `stopped`: by a person, or because the window went away; `edited`: a person wrote it. */
  stopReason: z.enum(['stop-id', 'stop-string', 'length', 'stopped', 'edited', 'failed']),
  /** Why it failed. */
  error: failure.nullable(),
})

const turn = z.object({
  user: text,
  /** By column; null: not answered there, so its conversation goes on with the first answer of the turn. */
  answers: z.array(answer.nullable()),
})

const conversation = z.object({
  id: conversationId,
  title: name,
  createdAt: instant,
  updatedAt: instant,
  /** The base: its name in the list, or a path. */
  model: path,
  /** What its weights are held in; null: as the adapters were trained on it, else f32. */
  base: z.enum(heldPrecisions).nullable(),
  columns,
  /** Empty: none. */
  system,
  sampling: chatSampling,
  turns: z.array(turn),
})

export const conversationSchema = conversation
export type Conversation = z.infer<typeof conversation>
export type ChatTurn = z.infer<typeof turn>
export type ChatAnswer = z.infer<typeof answer>

const summary = z.union([
  conversation.pick({ id: true, title: true, updatedAt: true, model: true }).extend({ turns: count }),
  z.object({ id: z.string(), problem: z.string() }),
])

const tokenLogprob = z.object({
  id: count,
  text: z.string(),
  /** Natural logarithm of its probability at the temperature of sampling, before any filter. */
  logprob: z.number(),
})

export const answerToken = tokenLogprob.extend({ top: z.array(tokenLogprob) })

/** What the base takes, and whether it is there. */
const room = z.object({
  base: z.enum(heldPrecisions),
  /** Of the weights, and of the keys and values of one conversation that fills the context. */
  weightBytes: count,
  contextBytes: count,
  availableBytes: count,
  totalBytes: count,
  contextLength: count,
  hasChatTemplate: z.boolean(),
  /** Why it cannot be talked to; null: it can. */
  problem: z.string().nullable(),
  state: z.enum(['closed', 'opening', 'open']),
})

export const chatApi = {
  /** The one that was changed last first. */
  list: query(z.void(), z.array(summary)),
  get: query(z.object({ id: conversationId }), conversation),
  create: command(
    z.object({
      model: path,
      columns: columns.default([null]),
      system: system.default(''),
      sampling: chatSampling.prefault({}),
      base: z.enum(heldPrecisions).nullable().default(null),
    }),
    conversation,
  ),
  /** Changes what is given. Answers that are there stay as they are. */
  update: command(
    z.object({
      id: conversationId,
      title: name.optional(),
      model: path.optional(),
      base: z.enum(heldPrecisions).nullable().optional(),
      /** `was`: the column whose answers it goes on with; null: it is a new one. */
      columns: z
        .array(z.object({ adapter: adapter.nullable(), was: count.nullable() }))
        .min(1)
        .max(maxColumns)
        .optional(),
      system: system.optional(),
      sampling: chatSampling.optional(),
    }),
    conversation,
  ),
  delete: command(z.object({ id: conversationId }), z.void()),
  /** Puts other words into the model’s mouth. */
  editAnswer: command(z.object({ id: conversationId, turn: count, column: count, text }), conversation),
  /**
   * Answers a turn in some columns, or in all; what follows the turn is removed. `text`: what is asked there; without it the
   * turn is answered again. The turn behind the last is a new one. Leaving the stream stops the answers, which are kept.
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
      /** What was added, and how many tokens there are. */
      z.object({ type: z.literal('text'), column: count, text: z.string(), tokens: count }),
      z.object({ type: z.literal('done'), column: count, answer }),
    ]),
  ),
  /** Of an answer: its tokens with the most probable ones at each place; none where it was edited. */
  tokens: query(z.object({ id: conversationId, answerId: z.uuid() }), z.array(answerToken)),
  room: query(conversation.pick({ model: true, base: true, columns: true }), room),
  /** Ends the process of a model that no answer is being written by. */
  close: command(z.void(), z.void()),
  watch: feed(z.void(), z.object({ cursor })),
}
