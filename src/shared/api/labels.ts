/** Labels that people give to answers: good or bad, better than the others, or what should have been said instead. */
import { z } from 'zod'
import { conversationId, chat, count, dataSetId, digest, name } from './common.ts'
import { command, query } from './contract.ts'

const text = z.string().max(200_000)

const verdict = z.object({
  rating: z.enum(['good', 'bad']).nullable(),
  /** True for the best of the answers to its prompt that were seen together. */
  isPreferred: z.boolean(),
  /** Text that should have been said; null: nothing else. */
  edit: text.nullable(),
})
export type Verdict = z.infer<typeof verdict>

const state = verdict.extend({ id: count })
/** Run or conversation, or `vote` for blind votes. */
const scope = z.string().regex(/^(?:(?:run|chat)_[0-9a-f-]{36}|vote)$/)

const answered = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('sample'), sampleId: count }),
  z.object({ kind: z.literal('chat'), id: conversationId, turn: count, column: count }),
  /** An answer that the host does not keep, with the others of its round. */
  z.object({
    kind: z.literal('vote'),
    round: z.uuid(),
    column: count,
    by: z.string().max(5000),
    prompt: z.union([text, chat]),
    answers: z.array(text).max(4),
    isTruncated: z.boolean(),
  }),
])

export const dataSetOfLabels = z.object({
  /** `ratings`: an answer a row, good or bad (KTO); `pairs`: a chosen and a rejected answer (DPO, ORPO, SimPO). */
  kind: z.enum(['ratings', 'pairs']),
  /** Absent: all labels. */
  scope: scope.optional(),
  /** Adds a version to the data set of this name, or a data set. */
  name,
})

export const labelsApi = {
  /** Labels of the answers that were seen together; `group` as in #shared/labelGroups.ts. */
  of: query(
    z.object({ group: z.string().max(200) }),
    z.array(state.extend({ member: count, completion: z.string() })),
  ),
  /** Changes the label of an answer. Returns the labels that it changed, as they were. */
  set: command(
    z.object({
      answered,
      changes: verdict.partial(),
      /** Takes back what the label says already, as a button does that is pressed again. */
      isToggled: z.boolean().optional(),
    }),
    z.array(state),
  ),
  /** Takes a change back. */
  restore: command(z.array(state).max(100), z.void()),
  counts: query(
    z.object({ scope: scope.optional() }),
    z.object({
      good: count,
      bad: count,
      preferred: count,
      edited: count,
      /** Rows of the two kinds of data sets. */
      rows: z.object({ ratings: count, pairs: count }),
      /** Good and preferred answers left out because they were cut off. */
      truncated: count,
      /** Labels of runs that were deleted. */
      ofDeletedRuns: count,
    }),
  ),
  makeDataSet: command(dataSetOfLabels, z.object({ dataSetId, versionId: digest, rows: count })),
  /** Forgets labels; data sets made of them stay. */
  delete: command(z.object({ scope: scope.optional() }), z.object({ deleted: count })),
}
