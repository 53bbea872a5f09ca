/** Labels of answers: finds what was labelled, and makes data sets of it. */
import type { Handlers, InputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import type { labelsApi } from '#shared/api/labels.ts'
import { sampleGroup, voteGroup } from '#shared/labelGroups.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import { importLabels, isLeftOut, pairRows, ratingRows } from '#host/data/labelRows.ts'
import type { Host } from '#host/host.ts'
import type { LabelledAnswer, LabelRecord } from '#host/store/labels.ts'
import type { SampleRecord } from '#host/store/samples.ts'
import type { DataStorage } from '#host/store/storage.ts'
import { findSample, originOf } from './samplesService.ts'

type Answered = InputOf<Api, 'labels.set'>['answered']

export const labelsService = (host: Host): Handlers<typeof labelsApi> => {
  const { store, notifier } = host
  return {
    of: ({ group }) =>
      store.labels.list({ group }).map(({ id, member, completion, rating, isPreferred, edit }) => ({
        id,
        member,
        completion,
        rating,
        isPreferred,
        edit,
      })),
    set: async ({ answered, changes, isToggled }) =>
      store.labels.set(await answerOf(host, answered), changes, isToggled),
    restore: (states) => store.labels.restore(states),
    counts({ scope }) {
      const labels = store.labels.list({ scope })
      const count = (holds: (label: LabelRecord) => boolean) => labels.filter(holds).length
      return {
        good: count(({ rating }) => rating === 'good'),
        bad: count(({ rating }) => rating === 'bad'),
        preferred: count(({ isPreferred }) => isPreferred),
        edited: count(({ edit }) => edit !== null),
        rows: { ratings: ratingRows(labels).length, pairs: pairRows(labels).length },
        truncated: count(isLeftOut),
        ofDeletedRuns: store.labels.ofDeletedRuns(),
      }
    },
    async makeDataSet(asked) {
      const { dataSetId, versionId, rows } = await importLabels(host, asked)
      notifier.notify()
      return { dataSetId, versionId, rows }
    },
    delete: ({ scope }) => ({ deleted: store.labels.remove(scope ?? null) }),
  }
}

/** Errors: AppError 'data/invalid' for an answer that is gone, or that a row cannot hold. */
async function answerOf(host: Host, answered: Answered): Promise<LabelledAnswer> {
  if (answered.kind === 'sample') return sampleAnswer(host, findSample(host.store, answered.sampleId))
  if (answered.kind === 'chat') return host.chats.labelled(answered)
  const { round, column, by, prompt, answers, isTruncated } = answered
  const completion = answers[column]
  if (completion === undefined) throw invalidData('There is no such answer to label.')
  return {
    scope: 'vote',
    group: voteGroup(round),
    member: column,
    origin: `blind vote, ${by}`,
    prompt,
    completion,
    others: answers.filter((_, at) => at !== column),
    isTruncated,
  }
}

async function sampleAnswer(host: DataStorage, sample: SampleRecord): Promise<LabelledAnswer> {
  const { runId, step, source, row, position, completion, stopReason } = sample
  requireOneAnswer(host, sample)
  const seen = host.store.samples.list({ runId, step, source, row })
  const part = source === 'rollout' ? 'training' : 'validation'
  return {
    scope: runId,
    group: sampleGroup(sample),
    member: position,
    origin: `${runId}, step ${step}, ${part} row ${row + 1}`,
    prompt: await promptOf(host, sample),
    completion,
    others: seen.filter(({ id }) => id !== sample.id).map((other) => other.completion),
    isTruncated: stopReason === 'length',
  }
}

/** Messages or text, as a run on these rows would have them; what the model read where the row is not known any more. */
async function promptOf(host: DataStorage, sample: SampleRecord): Promise<LabelledAnswer['prompt']> {
  try {
    return (await originOf(host, sample)).content
  } catch (error) {
    if (error instanceof AppError) return sample.prompt
    throw error
  }
}

/** Errors: AppError 'data/invalid' for a trajectory in which others spoke after the model. */
function requireOneAnswer({ store }: DataStorage, { id }: SampleRecord): void {
  const mask = store.samples.arrays(id)?.actionMask
  if (mask === undefined || !mask.subarray(mask.indexOf(1)).includes(0)) return
  throw invalidData(
    'This sample has several turns, and a row of a data set holds one answer.',
    'Label samples of one turn. A reward can judge whole trajectories.',
  )
}
