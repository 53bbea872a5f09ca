import type { Answer } from '#renderer/client/api.tsx'
import { formatShort } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { GetButton } from './KnownModels.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { numberColumn, plainColumn, unnamedColumn } from '#renderer/kit/columns.tsx'

type Found = Answer<'hub.search'>['models'][number]

interface FoundModelsProps {
  readonly models: readonly Found[]
  readonly onOpen: (address: string) => void
}

/** Search results from the hub, and whether they can be opened here. */
export function FoundModels({ models, onOpen }: FoundModelsProps) {
  return (
    <Table
      label="Models on the hub"
      rows={models}
      columns={columnsFor(onOpen)}
      rowKey={({ id }) => id}
      rowHeight={40}
      onOpen={({ id, verdict }) => {
        if ('family' in verdict) onOpen(id)
      }}
      className="min-h-80 border-t border-line"
    />
  )
}

const formWords = { safetensors: 'safetensors', gguf: 'GGUF' } as const

const columnsFor = (onOpen: (address: string) => void): readonly Column<Found>[] => [
  plainColumn(
    ['model', 'Model', 'minmax(260px, 1fr)'],
    ({ id }) => (
      <span className="font-medium" title={id}>
        {id}
      </span>
    ),
    ({ id }) => id.toLowerCase(),
  ),
  plainColumn(
    ['opens', 'Opens here', 'minmax(200px, 1fr)'],
    ({ verdict }) =>
      'family' in verdict ? (
        <Badge tone="good">{verdict.family}</Badge>
      ) : (
        <span className="text-muted" title={verdict.problem}>
          No. {verdict.problem}
        </span>
      ),
    ({ verdict }) => ('family' in verdict ? verdict.family : null),
  ),
  numberColumn(['parameters', 'Parameters', '96px'], ({ parameters }) => parameters, formatShort),
  plainColumn(['weights', 'Weights', '140px'], ({ forms }) => (
    <span className="text-muted">{forms.map((form) => formWords[form]).join(', ')}</span>
  )),
  plainColumn(
    ['license', 'Licence', '140px'],
    ({ license, isGated }) => (
      <span title={isGated ? 'Needs an account that has accepted its terms' : undefined}>
        {license ?? <span className="text-faint">Not stated</span>}
        {isGated && <span className="text-faint"> · account</span>}
      </span>
    ),
    ({ license }) => license,
  ),
  numberColumn(['downloads', 'Downloads', '96px'], ({ downloads }) => downloads, formatShort),
  unnamedColumn(
    ['action', 'Actions', '72px'],
    ({ id, verdict }) => 'family' in verdict && <GetButton id={id} onOpen={onOpen} />,
  ),
]
