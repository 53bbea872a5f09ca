/**
 * The sessions that ended, in the run's folder: what was asked, and how each ended. A resumed run asks the same again, which
 * gives the same tokens, and needs no agent for steps that it takes a second time.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { EpisodePlace, EpisodeRun, EpisodeStep } from '#rl/rollout/workflow.ts'
import { existsSync } from 'node:fs'
import { openEventLog, readEvents } from '#host/workFolder/eventLog.ts'
import { answeredBy, endStep, isFault, type KeptSession } from './session.ts'

const finite = z.number()
const message = z.looseObject({ role: z.string(), content: z.string() })
const generateAsk = z.object({
  kind: z.literal('generate'),
  ids: z.array(z.int().min(0)).optional(),
  messages: z.array(message).optional(),
  tools: z.array(z.looseObject({})).optional(),
  samples: z.int().min(1).optional(),
  maxNewTokens: z.int().min(1).optional(),
  stop: z.array(z.string()).optional(),
})
const replyAsk = z.object({
  kind: z.literal('reply'),
  ids: z.array(z.int().min(0)),
  message: z.union([z.string(), z.array(message)]),
})
const ask = z.discriminatedUnion('kind', [generateAsk, replyAsk])
const parts = z.record(z.string(), finite.nullable())
const end = z.union([
  z.object({ failure: z.string() }),
  z.object({
    reward: z.union([finite, z.object({ total: finite.nullable(), parts: parts.optional() })]).nullish(),
    callRewards: z.record(z.string(), finite),
    dropped: z.array(z.int().min(0)),
  }),
])
const recordSchema = z.object({
  type: z.literal('session'),
  /** Digest of the settings that the answers depend on. */
  settings: z.string(),
  place: z.object({
    source: z.enum(['training', 'evaluation']),
    step: z.int().min(0),
    row: z.int().min(0),
    sample: z.int().min(0),
  }),
  rounds: z.array(z.array(ask)),
  /** Digest of the answers. */
  answers: z.string(),
  end,
})

type Ended = Omit<z.infer<typeof recordSchema>, 'type'>

export interface SessionLog extends Disposable {
  /** Keeps a session that ended. Errors: AppError 'file/unwritable'. */
  keep(session: KeptSession & Pick<Ended, 'place' | 'settings'>): void
  /** The session of that place with the same settings, as an episode that needs no agent; null: none ended. */
  find(place: EpisodePlace, settings: string): RepeatedSession | null
}

/** Key of an episode among those of its run. */
export const placeKey = ({ source, step, row, sample }: EpisodePlace): string =>
  [source, step, row, sample].join(' ')

const keyOf = (place: EpisodePlace, settings: string): string => `${placeKey(place)} ${settings}`

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')

/** Digest of the tokens alone: log-probabilities depend, in their last bits, on the rows that a batch has besides. */
const tokensDigest = (answers: KeptSession['answers']): string =>
  digest(answers.map((completions) => completions.map(({ ids, finishReason }) => ({ ids, finishReason }))))

/** Digest of the settings that answers depend on. */
export const settingsDigest = digest

/** A line that is damaged is no session. Errors: AppError 'file/unreadable', 'file/unwritable'. */
export function openSessionLog(file: string): SessionLog {
  const known = new Map<string, Ended>()
  for (const event of existsSync(file) ? readEvents(file, ['session']) : []) {
    const { data } = recordSchema.safeParse(event)
    if (data !== undefined) known.set(keyOf(data.place, data.settings), data)
  }
  const log = openEventLog(file)
  return {
    keep({ answers, ...session }) {
      log.append({ type: 'session', ...session, answers: tokensDigest(answers) })
    },
    find(place, settings) {
      const ended = known.get(keyOf(place, settings))
      return ended === undefined ? null : new RepeatedSession(ended)
    },
    [Symbol.dispose]: () => log[Symbol.dispose](),
  }
}

/** Asks what was asked before, round by round, and ends as that session ended. */
export class RepeatedSession {
  readonly #ended: Ended
  #round = 0

  constructor(ended: Ended) {
    this.#ended = ended
  }

  next({ answers }: EpisodeRun): EpisodeStep {
    const { rounds, end: how, answers: before } = this.#ended
    const round = rounds[this.#round++]
    if (round !== undefined)
      return { requests: round.map((request) => ({ text: JSON.stringify(request), request })) }
    const answered = rounds
      .flat()
      .flatMap((request, i) =>
        request.kind === 'generate' && !isFault(answers[i]) ? [{ request, answer: answers[i] }] : [],
      )
      .map(({ request, answer }, number) => answeredBy(request, answer, number))
    if (tokensDigest(answered.map(({ completions }) => completions)) !== before)
      return {
        failure: {
          message:
            'The session cannot be repeated: the model answers differently from before the run was resumed. Nothing is learned from it.',
        },
      }
    return endStep(how, answered)
  }
}
