import type { Answer } from '#renderer/client/api.tsx'
import { fitWords } from '#renderer/client/modelChoice.ts'
import { formatBytes, formatCount, formatNumber, formatShort } from '#renderer/client/format.ts'
import { link } from '#renderer/client/route.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import {
  numberColumn,
  mutedColumn,
  plainColumn,
  figureColumn,
  unnamedColumn,
} from '#renderer/kit/columns.tsx'

type Known = Answer<'hub.known'>[number]

interface KnownModelsProps {
  readonly models: readonly Known[]
  readonly onOpen: (address: string) => void
}

/** Lists each model's requirements and expected speed here; opening one queries the hub. */
export function KnownModels({ models, onOpen }: KnownModelsProps) {
  const hasSpeed = models.some(({ speed }) => speed !== null)
  return (
    <Table
      label="Recommended models"
      rows={models}
      columns={columnsFor(onOpen, hasSpeed)}
      rowKey={({ id }) => id}
      rowHeight={68}
      onOpen={({ id, localName }) => {
        if (localName === null) onOpen(id)
      }}
      className="min-h-80 border-t border-line"
    />
  )
}

export const GetButton = ({ id, onOpen }: { id: string } & Pick<KnownModelsProps, 'onOpen'>) => (
  <Button small aria-label={`Get ${id}`} onClick={() => onOpen(id)}>
    Get
  </Button>
)

const Number = ({ children }: { children: string }) => (
  <span className="font-mono text-sm tabular-nums">{children}</span>
)

const columnsFor = (onOpen: (address: string) => void, hasSpeed: boolean): readonly Column<Known>[] => [
  plainColumn(
    ['model', 'Model', 'minmax(280px, 1fr)'],
    ({ id, goodFor }) => (
      <span className="flex flex-col whitespace-normal">
        <span className="truncate font-medium">{id}</span>
        <span className="line-clamp-2 text-sm text-muted text-pretty">{goodFor}</span>
      </span>
    ),
    ({ id }) => id.toLowerCase(),
  ),
  numberColumn(['parameters', 'Parameters', '92px'], ({ parameters }) => parameters, formatShort),
  plainColumn(
    ['memory', 'Memory to train', '124px'],
    ({ fits, trainingBytes }) => (
      <span className="flex flex-col">
        <Number>{formatBytes(trainingBytes)}</Number>
        <span className={`truncate text-sm ${fits === null ? 'text-warn' : 'text-muted'}`}>
          {fitWords(fits)}
        </span>
      </span>
    ),
    ({ trainingBytes }) => trainingBytes,
  ),
  ...(hasSpeed ? speedColumns : []),
  numberColumn(['disk', 'On disk', '80px'], ({ sizeBytes }) => sizeBytes, formatBytes),
  numberColumn(['context', 'Context', '84px'], ({ contextLength }) => contextLength, formatCount),
  mutedColumn(['family', 'Family', '96px'], ({ family }) => family),
  plainColumn(
    ['license', 'Licence', '112px'],
    ({ license, isGated }) => (
      <span className="flex flex-col">
        <span className="truncate">{license}</span>
        {isGated && <span className="truncate text-sm text-muted">account needed</span>}
      </span>
    ),
    ({ license }) => license,
  ),
  unnamedColumn(['action', 'Actions', '124px'], ({ id, localName }) =>
    localName === null ? (
      <GetButton id={id} onOpen={onOpen} />
    ) : (
      <a href={link(`/models/${encodeURIComponent(localName)}`)} aria-label={`${id} is on this machine`}>
        <Badge tone="good">On this machine</Badge>
      </a>
    ),
  ),
]

/** Columns shown only once something was measured. */
const speedColumns: readonly Column<Known>[] = (['generating', 'learning'] as const).map((part) =>
  figureColumn(
    [part, part === 'generating' ? 'Generates' : 'Learns', '104px'],
    ({ speed }) => (speed === null ? '' : `${formatNumber(speed[part], 2)} tok/s`),
    ({ speed }) => speed?.[part] ?? null,
  ),
)
