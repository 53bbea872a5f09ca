import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useAddData } from './useData.ts'
import { useNow } from '#renderer/client/live.ts'
import { AddingPicker, type PickerFieldProps, type PickerItem } from '#renderer/kit/Picker.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { formatAgo, formatBytes, plural } from '#renderer/client/format.ts'

export interface DataPickerProps extends PickerFieldProps {
  /** Id of a version; null: nothing chosen. */
  readonly value: string | null
  readonly onChange: (versionId: string) => void
}

/** Chooses a data set, by default its newest version, or adds one. */
export function DataPicker(props: DataPickerProps) {
  const { value, onChange, label = 'Data set', isInline = false, ...ids } = props
  const { data: dataSets } = useAnswer('datasets.list', undefined)
  const now = useNow(60_000)
  const addData = useAddData()
  const chosen = findVersion(dataSets, value)
  const list = {
    label,
    items: (dataSets ?? []).flatMap((dataSet) => itemOf(dataSet, now)),
    value: chosen?.dataSet.id ?? null,
    empty: 'No data set yet. Add a file: csv, tsv, json, jsonl or parquet.',
    onChange(dataSetId: string) {
      const versionId = dataSets?.find(({ id }) => id === dataSetId)?.versions[0]?.id
      if (versionId !== undefined) onChange(versionId)
    },
  }
  const versions = chosen !== undefined && chosen.dataSet.versions.length > 1 && (
    <Select
      aria-label={`Version of ${chosen.dataSet.name}`}
      value={chosen.version.id}
      options={chosen.dataSet.versions.map(({ id }) => ({
        value: id,
        label: `Version ${String(versionNumber(chosen.dataSet.versions, id))}`,
      }))}
      onChange={onChange}
      className="shrink-0"
    />
  )
  return (
    <AddingPicker
      {...{ ...list, ...ids, isInline }}
      placeholder="Choose a data set"
      addLabel="Add data"
      onAdd={addData}
      className="grow"
    >
      {versions}
    </AddingPicker>
  )
}

function itemOf({ id, name, versions }: DataSet, now: number): PickerItem[] {
  const [latest] = versions
  if (latest === undefined) return []
  const facts = { key: id, title: name, detail: versionFacts(latest, now) }
  return [latest.unusable === null ? facts : { ...facts, problem: latest.unusable }]
}

// Data sets as entries of a list to choose from.

export type DataSet = Answer<'datasets.list'>[number]
type DataVersion = DataSet['versions'][number]

/** Number of a version within its data set: the first import is 1. `versions`: newest first. */
export const versionNumber = (versions: readonly Pick<DataVersion, 'id'>[], versionId: string): number =>
  versions.length - versions.findIndex(({ id }) => id === versionId)

/** Formats “500 rows · prompt, answer, task · 2 h ago”. */
const versionFacts = (version: DataVersion, now: number): string =>
  [
    plural(version.rows, 'row'),
    version.sizeBytes === 0 ? '' : formatBytes(version.sizeBytes),
    shortList(version.columns.map(({ name }) => name)),
    formatAgo(version.createdAt, now),
  ]
    .filter(Boolean)
    .join(' · ')

/** Names the first few, and how many more there are. */
export function shortList(names: readonly string[], most = 4): string {
  if (names.length <= most) return names.join(', ')
  return `${names.slice(0, most).join(', ')} and ${String(names.length - most)} more`
}

export function findVersion(
  dataSets: readonly DataSet[] | undefined,
  versionId: string | null,
): { readonly dataSet: DataSet; readonly version: DataVersion } | undefined {
  for (const dataSet of dataSets ?? []) {
    const version = dataSet.versions.find(({ id }) => id === versionId)
    if (version !== undefined) return { dataSet, version }
  }
  return undefined
}
