import { CloudDownload, Database, Plus } from 'lucide-react'
import { useMemo, useState } from 'react'
import { keyTable } from '#shared/keyTable.ts'
import { useArrivals } from '#renderer/client/adding.ts'
import { kindOfName } from '#renderer/client/fileDialog.ts'
import { navigate, useRoute } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Page, NotFound } from '#renderer/kit/Page.tsx'
import { EmptyState, ErrorNote, Kbd, Loading } from '#renderer/kit/states.tsx'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { useNow } from '#renderer/client/live.ts'
import { formatBytes, formatCount, plural } from '#renderer/client/format.ts'
import { keyWords } from '#renderer/client/keys.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { HubDialog } from '#renderer/kit/HubDialog.tsx'
import { IncomingPage } from './IncomingPage.tsx'
import { VersionPage } from './VersionPage.tsx'
import { useAddData, useFetchData } from '#renderer/parts/useData.ts'
import { shortList, type DataSet } from '#renderer/parts/DataPicker.tsx'
import { SelectField } from '#renderer/kit/choices.tsx'
import { numberColumn, agoColumn, plainColumn } from '#renderer/kit/columns.tsx'

/** `/data`: files that wait for a decision, else the list; `/data/:versionId`: one version. */
export function DataScreen() {
  const { path, query } = useRoute()
  const arrivals = useArrivals(({ data }) => data)
  const [, versionId] = path
  if (versionId !== undefined && !/^[0-9a-f]{64}$/.test(versionId)) return <NoDataSet />
  if (versionId !== undefined) return <VersionPage key={versionId} versionId={versionId} />
  if (arrivals.length > 0) return <IncomingPage arrivals={arrivals} into={query.get('into')} />
  return <DataSetList />
}

const NoDataSet = () => (
  <NotFound what="data set" to="/data" others="data sets">
    It may have been deleted.
  </NotFound>
)

/** Ends a sentence with the key that adds data. */
const AddKey = () => (
  <span className="whitespace-nowrap">
    <Kbd>{keyWords(keyTable.addData.keys[0] ?? '')}</Kbd>.
  </span>
)

function DataSetList() {
  const { data: dataSets, error, refetch } = useAnswer('datasets.list', undefined)
  const addData = useAddData()
  const now = useNow(60_000)
  const columns = useMemo(() => columnsAt(now), [now])
  const [isHubOpen, setHubOpen] = useState(false)
  const isEmpty = dataSets?.length === 0
  const add = (
    <span className="flex items-center gap-2">
      <Button icon={CloudDownload} onClick={() => setHubOpen(true)}>
        From a hub
      </Button>
      <Button variant="primary" icon={Plus} onClick={addData}>
        Add data
      </Button>
    </span>
  )
  return (
    <Page isFull main={isEmpty ? undefined : add}>
      {error !== null && (
        <ErrorNote error={error} className="m-8" action={<Button onClick={refetch}>Try again</Button>} />
      )}
      <NotImported />
      {isHubOpen && <HubDataDialog onClose={() => setHubOpen(false)} />}
      {dataSets === undefined && error === null && <Loading shape="table" />}
      {isEmpty && (
        <EmptyState icon={Database} title="Add tasks to train a model on" action={add}>
          Drop a file anywhere in the window, or press <AddKey /> Turnwise reads CSV, TSV, JSON, JSONL and
          Parquet. Every row needs a prompt, and most rewards need the expected answer.
        </EmptyState>
      )}
      {dataSets !== undefined && !isEmpty && (
        <Table
          label="Data sets"
          rows={dataSets}
          columns={columns}
          rowKey={({ id }) => id}
          rowHeight={40}
          onOpen={({ versions: [latest] }) => {
            if (latest !== undefined) navigate(`/data/${latest.id}`)
          }}
          className="[&_[role=cell]:first-child]:pl-page [&_[role=columnheader]:first-child]:pl-page"
        />
      )}
    </Page>
  )
}

/** Offers files that were added but not imported, such as those of a tab that was closed. */
function NotImported() {
  const { data: uploads = [], refetch } = useAnswer('system.uploads', undefined, { staleMs: 0 })
  const discard = useCommand('system.discardUpload', { onDone: refetch })
  const files = uploads.filter(({ name }) => kindOfName(name) === 'data')
  if (files.length === 0) return null
  return (
    <ul aria-label="Not imported yet" className="shrink-0 border-b border-line bg-panel px-page py-1">
      {files.map(({ uploadId, name, sizeBytes }) => (
        <li key={uploadId} className="flex min-h-8 items-center gap-2">
          <span className="min-w-0 grow truncate">
            {name} <span className="text-muted">{formatBytes(sizeBytes)}, added but not imported yet</span>
          </span>
          <Button
            small
            onClick={() =>
              useArrivals.setState(({ data }) => ({ data: [...data, { name, source: { uploadId } }] }))
            }
          >
            Look at it
          </Button>
          <Button small variant="quiet" onClick={() => void discard.run({ uploadId })}>
            Discard
          </Button>
        </li>
      ))}
    </ul>
  )
}

const columnsAt = (now: number): readonly Column<DataSet>[] => [
  plainColumn(
    ['name', 'Name', 'minmax(200px, 1.2fr)'],
    ({ name, versions: [latest] }) => (
      <span className="flex items-center gap-2">
        <span className="truncate font-medium">{name}</span>
        {latest !== undefined && latest.unusable !== null && (
          <span title={latest.unusable}>
            <Badge tone="bad">Cannot be read</Badge>
          </span>
        )}
        {latest !== undefined && latest.problems > 0 && (
          <Badge tone="caution">{formatCount(latest.problems)} left out</Badge>
        )}
      </span>
    ),
    ({ name }) => name.toLowerCase(),
  ),
  plainColumn(['columns', 'Columns', 'minmax(200px, 1.4fr)'], ({ versions: [latest] }) => (
    <span className="text-muted">{shortList(latest?.columns.map(({ name }) => name) ?? [])}</span>
  )),
  numberColumn(['rows', 'Rows', '96px'], ({ versions: [latest] }) => latest?.rows, formatCount),
  numberColumn(['size', 'Size', '96px'], ({ versions: [latest] }) => latest?.sizeBytes, formatBytes),
  numberColumn(['versions', 'Versions', '96px'], ({ versions }) => versions.length, formatCount),
  agoColumn(
    ['changed', 'Changed', '140px'],
    ({ versions: [latest], createdAt }) => latest?.createdAt ?? createdAt,
    now,
  ),
]

/** Lists the configs and splits of a hub data set and downloads one split, to be reviewed before it is imported. */
function HubDataDialog({ onClose }: { onClose: () => void }) {
  const [address, setAddress] = useState('')
  const [choice, setChoice] = useState<HubChoice>({})
  const [found, setFound] = useState<Answer<'datasets.listOnHub'> | null>(null)
  const look = useCommand('datasets.listOnHub', { quiet: true, onDone: setFound })
  const task = useFetchData(onClose)
  const isRunning = task.state === 'running'
  const isBusy = isRunning || look.isRunning
  const chosen = found === null ? null : chosenSplit(found.configs, choice)
  const change = (text: string) => {
    setAddress(text)
    setFound(null)
    setChoice({})
  }
  const goOn = () => {
    if (chosen === null) void look.run({ address })
    else task.start({ address, config: chosen.config.name, split: chosen.split.name })
  }
  return (
    <HubDialog
      {...{ address, isBusy, task, onClose }}
      title="Add data from a hub"
      note="owner/name, or the address of its page. Only files with rows are fetched (parquet, jsonl, json, csv, tsv); loading scripts are never run."
      onAddress={change}
      action={chosen === null ? 'Show its files' : 'Fetch rows'}
      onGoOn={goOn}
      error={task.error ?? look.error}
    >
      {found !== null && chosen !== null && (
        <PartFields configs={found.configs} chosen={chosen} isDisabled={isRunning} onChoose={setChoice} />
      )}
    </HubDialog>
  )
}

interface PartFieldsProps {
  readonly configs: Answer<'datasets.listOnHub'>['configs']
  readonly chosen: HubSplit
  readonly isDisabled: boolean
  readonly onChoose: (choice: HubChoice) => void
}

function PartFields({ configs, chosen: { config, split }, isDisabled, onChoose }: PartFieldsProps) {
  return (
    <>
      {configs.length > 1 && (
        <SelectField
          label="Config"
          value={config.name}
          disabled={isDisabled}
          options={configs.map(({ name }) => ({ value: name, label: name }))}
          onChange={(name) => onChoose({ config: name })}
        />
      )}
      <SelectField
        label="Split"
        value={split.name}
        disabled={isDisabled}
        options={config.splits.map(({ name, files, sizeBytes }) => ({
          value: name,
          label: `${name} · ${formatBytes(sizeBytes)} in ${plural(files, 'file')}`,
        }))}
        onChange={(name) => onChoose({ config: config.name, split: name })}
      />
    </>
  )
}

// Chosen config and split of a hub data set.

type Config = Answer<'datasets.listOnHub'>['configs'][number]

interface HubChoice {
  readonly config?: string
  readonly split?: string
}

interface HubSplit {
  readonly config: Config
  readonly split: Config['splits'][number]
}

/** Fills in defaults for missing or invalid choices: the first config, the training rows. Null if there are none. */
export function chosenSplit(configs: readonly Config[], choice: HubChoice): HubSplit | null {
  const config = configs.find(({ name }) => name === choice.config) ?? configs[0]
  const splits = config?.splits ?? []
  const named = (wanted: string | undefined) => splits.find(({ name }) => name === wanted)
  const split = named(choice.split) ?? named('train') ?? splits[0]
  return config === undefined || split === undefined ? null : { config, split }
}
