/** Labels as rows of a data set: answers marked as good or bad, or pairs of a chosen and a rejected answer. */
import type { z } from 'zod'
import type { dataSetOfLabels } from '#shared/api/labels.ts'
import { invalidData } from '#shared/errors.ts'
import type { LabelRecord } from '#host/store/labels.ts'
import type { DataStorage } from '#host/store/storage.ts'
import { addRows } from './addRows.ts'
import { addVersion, findDataSet } from './dataSetVersions.ts'

interface Marked {
  readonly prompt: LabelRecord['prompt']
  readonly completion: string
  /** True: good. */
  readonly label: boolean
  readonly from: string
}

interface Pair {
  readonly prompt: LabelRecord['prompt']
  readonly chosen: string
  readonly rejected: string
  readonly from: string
}

/** True for a truncated answer that was rated good or preferred: a model that learned from it would learn to stop early. */
export const isLeftOut = ({ isTruncated, rating, isPreferred }: LabelRecord): boolean =>
  isTruncated && (rating === 'good' || isPreferred)

/** Takes the text written instead of an answer as good, unless it was itself rated. An answer to a prompt is one row: its last rating. */
export function ratingRows(labels: readonly LabelRecord[]): Marked[] {
  const edited = labels.flatMap(({ prompt, edit, origin }) =>
    edit === null ? [] : [{ prompt, completion: edit, label: true, from: `${origin}, edited` }],
  )
  const rated = labels.flatMap(({ prompt, completion, rating, origin, isTruncated }) =>
    rating === null || (isTruncated && rating === 'good')
      ? []
      : [{ prompt, completion, label: rating === 'good', from: origin }],
  )
  return distinct([...edited, ...rated], ({ prompt, completion }) => [prompt, completion])
}

/** The preferred answer against each of the others seen with it, and what was written instead of an answer against it. */
export function pairRows(labels: readonly LabelRecord[]): Pair[] {
  const pairs = labels.flatMap(({ prompt, completion, others, isPreferred, isTruncated, edit, origin }) => [
    ...(isPreferred && !isTruncated ? others : []).map((rejected) => ({
      prompt,
      chosen: completion,
      rejected,
      from: origin,
    })),
    ...(edit === null ? [] : [{ prompt, chosen: edit, rejected: completion, from: `${origin}, edited` }]),
  ])
  const differing = pairs.filter(({ chosen, rejected }) => chosen !== rejected)
  return distinct(differing, ({ prompt, chosen, rejected }) => [prompt, chosen, rejected])
}

/** The last of those that are the same. */
const distinct = <Row>(rows: readonly Row[], what: (row: Row) => unknown): Row[] => [
  ...new Map(rows.map((row) => [JSON.stringify(what(row)), row])).values(),
]

interface LabelDataSet {
  readonly dataSetId: string
  readonly versionId: string
  readonly directory: string
  readonly rows: number
}

/** Imports labels as a version of the data set of that name, which is added where there is none. Errors: AppError 'data/invalid', 'file/…'. */
export async function importLabels(
  { store, dataDirectory }: DataStorage,
  { kind, scope, name }: z.output<typeof dataSetOfLabels>,
): Promise<LabelDataSet> {
  const labels = store.labels.list({ scope })
  const rows = kind === 'pairs' ? pairRows(labels) : ratingRows(labels)
  if (rows.length === 0)
    throw invalidData(
      `No label makes a row of ${kind}; no data set was added.`,
      kind === 'pairs'
        ? 'Prefer answers over others in Samples, Chat or a blind vote, or edit them.'
        : 'Rate answers as good or bad in Samples, Chat or a blind vote.',
    )
  const { version } = await addRows(rows, { name, origin: 'labels given in Turnwise' }, dataDirectory)
  const known = store.dataSets.findVersion(version.info.id)
  const named = store.dataSets.list().find((each) => each.name === name)
  const dataSet =
    known === null
      ? (named ?? store.dataSets.create(name))
      : findDataSet({ store, dataDirectory }, known.dataSetId)
  addVersion(store, dataSet, version)
  return {
    dataSetId: dataSet.id,
    versionId: version.info.id,
    directory: version.directory,
    rows: version.info.rows,
  }
}
