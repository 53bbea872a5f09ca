import { Pencil, Play, Plus, Trash2 } from 'lucide-react'
import { useEffect, useRef, useState, useMemo } from 'react'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { navigate, setQuery, useRoute } from '#renderer/client/route.ts'
import { formatBytes, formatCount, formatDate, plural } from '#renderer/client/format.ts'
import { isInTheWay, RunsInTheWay } from '#renderer/parts/RunsInTheWay.tsx'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { MoreMenu, revealItems } from '#renderer/kit/Menu.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Tabs, type Tab } from '#renderer/kit/Tabs.tsx'
import { Dialog, ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { toast } from '#renderer/client/toasts.ts'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { useAddVersion, useLastDataSet, useRunsReading } from '#renderer/parts/useData.ts'
import { AnswersTab } from './AnswersTab.tsx'
import { DifficultyTab } from './DifficultyTab.tsx'
import { findVersion, versionNumber, type DataSet } from '#renderer/parts/DataPicker.tsx'
import { LengthsTab } from './LengthsTab.tsx'
import type { Opened } from './usePrompt.ts'
import { PromptTab } from './PromptTab.tsx'
import { SplitTab } from './SplitTab.tsx'
import { RowDetail, Cell, rowColumns } from './RowsTable.tsx'
import type { RowProblem } from '#renderer/parts/columnFacts.ts'
import { Form, TextField } from '#renderer/kit/inputs.tsx'
import { numberColumn, plainColumn } from '#renderer/kit/columns.tsx'

const tabIds = ['rows', 'prompt', 'lengths', 'split', 'difficulty', 'answers', 'problems'] as const
type TabId = (typeof tabIds)[number]

/** One version of a data set, from its rows to the prompts of runs. */
export function VersionPage({ versionId }: { versionId: string }) {
  const list = useAnswer('datasets.list', undefined)
  const opened = useAnswer('datasets.version', { versionId })
  const found = findVersion(list.data, versionId)
  if (opened.error !== null) {
    return (
      <Page title={found?.dataSet.name ?? 'Data'}>
        <ErrorNote
          error={opened.error}
          action={<Button onClick={() => navigate('/data')}>All data sets</Button>}
        />
      </Page>
    )
  }
  if (opened.data === undefined || list.data === undefined) {
    return (
      <Page title={found?.dataSet.name ?? 'Data'} isFull>
        <Loading shape="table" />
      </Page>
    )
  }
  return <Version opened={opened.data} dataSet={found?.dataSet} />
}

/** Remembers the version opened last. */
function useNoted(id: string) {
  const [last, setLast] = useLastDataSet()
  // Once per opened version, since another window may open another one meanwhile.
  const noted = useRef<string | null>(null)
  useEffect(() => {
    if (noted.current === id) return
    noted.current = id
    if (last !== id) setLast(id)
  }, [id, last, setLast])
}

function Version({ opened, dataSet }: { opened: Opened; dataSet: DataSet | undefined }) {
  const { version, problems } = opened
  const { query } = useRoute()
  const tab = tabIds.find((id) => id === query.get('tab')) ?? 'rows'
  useNoted(version.id)
  return (
    <Page
      isFull
      title={dataSet?.name ?? 'Data set'}
      about={<Facts opened={opened} dataSet={dataSet} />}
      main={
        <>
          {dataSet !== undefined && <Actions dataSet={dataSet} directory={version.directory} />}
          <Button
            variant="primary"
            icon={Play}
            iconSize={13}
            onClick={() => navigate('/new-run', { data: version.id })}
          >
            Train on this
          </Button>
        </>
      }
    >
      <Tabs<TabId>
        label="About this data set"
        value={tab}
        onChange={(id) => setQuery({ tab: id })}
        tabs={tabsOf(version.problems)}
        className="flex flex-col"
        isPage
      >
        {tab === 'rows' && <RowsTab version={version} />}
        {tab === 'prompt' && <PromptTab opened={opened} />}
        {tab === 'lengths' && <LengthsTab opened={opened} />}
        {tab === 'split' && <SplitTab opened={opened} />}
        {tab === 'difficulty' && <DifficultyTab opened={opened} />}
        {tab === 'answers' && <AnswersTab opened={opened} name={dataSet?.name ?? 'data'} />}
        {tab === 'problems' && <Problems count={version.problems} problems={problems} />}
      </Tabs>
    </Page>
  )
}

const tabsOf = (problems: number): readonly Tab<TabId>[] => [
  { id: 'rows', label: 'Rows' },
  { id: 'prompt', label: 'Prompt' },
  { id: 'lengths', label: 'Lengths' },
  { id: 'split', label: 'Split' },
  { id: 'difficulty', label: 'Difficulty' },
  { id: 'answers', label: 'Answers' },
  {
    id: 'problems',
    label: 'Problems',
    mark: problems > 0 && <Badge tone="caution">{formatCount(problems)}</Badge>,
  },
]

function Facts({ opened: { version }, dataSet }: { opened: Opened; dataSet: DataSet | undefined }) {
  return (
    <>
      {dataSet !== undefined && dataSet.versions.length > 1 && (
        <Select
          small
          aria-label="Version"
          value={version.id}
          options={dataSet.versions.map(({ id, createdAt }) => ({
            value: id,
            label: `Version ${String(versionNumber(dataSet.versions, id))} · ${formatDate(createdAt)}`,
          }))}
          onChange={(id) => navigate(`/data/${id}`)}
          className="shrink-0"
        />
      )}
      <span className="truncate tabular-nums">
        {plural(version.rows, 'row')} · {formatBytes(version.sizeBytes)}
      </span>
    </>
  )
}

function Actions({ dataSet, directory }: { dataSet: DataSet; directory: string }) {
  const [asked, setAsked] = useState<'rename' | 'delete' | null>(null)
  const addVersion = useAddVersion(dataSet.id)
  const close = () => setAsked(null)
  return (
    <>
      <MoreMenu
        groups={[
          [
            { label: 'New version from a file', icon: Plus, run: addVersion },
            { label: 'Rename', icon: Pencil, run: () => setAsked('rename') },
            ...revealItems(directory),
          ],
          [{ label: 'Delete', icon: Trash2, isDangerous: true, run: () => setAsked('delete') }],
        ]}
      />
      {asked === 'rename' && <RenameDataSet dataSet={dataSet} onClose={close} />}
      {asked === 'delete' && <DeleteDataSet dataSet={dataSet} onClose={close} />}
    </>
  )
}

function Problems({ count, problems }: { count: number; problems: Opened['problems'] }) {
  if (count === 0) return <p className="px-page py-6 text-muted">Every row of the file could be read.</p>
  return (
    <>
      <p className="px-page py-3 text-muted">
        {plural(count, 'row')} of the file could not be read and {count === 1 ? 'was' : 'were'} left out
        {problems.length < count && `; the first ${formatCount(problems.length)} are listed`}. To include
        them, correct the file and import it as a new version.
      </p>
      <ProblemRows problems={problems} />
    </>
  )
}

function RenameDataSet({ dataSet: { id, name }, onClose }: { dataSet: DataSet; onClose: () => void }) {
  const [draft, setDraft] = useState(name)
  const rename = useCommand('datasets.rename', { onDone: onClose })
  const isEmpty = draft.trim() === ''
  const save = () => void rename.run({ dataSetId: id, name: draft.trim() })
  return (
    <Dialog
      title="Rename data set"
      onClose={onClose}
      action={{ label: 'Rename', isDisabled: isEmpty || rename.isRunning, run: save }}
    >
      <Form onSubmit={() => !isEmpty && save()}>
        <TextField label="Name" autoFocus value={draft} onChange={setDraft} />
      </Form>
    </Dialog>
  )
}

/** Asks for confirmation, naming the runs that read the data set. */
function DeleteDataSet({ dataSet, onClose }: { dataSet: DataSet; onClose: () => void }) {
  const { id, name, versions } = dataSet
  const { runs, isLoaded } = useRunsReading(versions.map(({ directory }) => directory))
  const remove = useCommand('datasets.delete', {
    onDone() {
      toast({ title: `“${name}” was deleted.` })
      navigate('/data')
    },
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Delete “${name}”?`}
      action="Delete data set"
      isDisabled={!isLoaded || runs.some(isInTheWay)}
      onConfirm={() => void remove.run({ dataSetId: id })}
    >
      <p>
        {versions.length === 1 ? 'Its rows are' : `Its ${plural(versions.length, 'version')} are`} removed
        from this machine. The original files stay.
      </p>
      {!isLoaded && <p className="mt-2">Checking which runs use it…</p>}
      {isLoaded && runs.length === 0 && <p className="mt-2">No run uses it.</p>}
      {runs.length > 0 && (
        <RunsInTheWay
          runs={runs}
          need="use it"
          after="These finished runs used it. They and their checkpoints stay, but they cannot be forked or trained further:"
        />
      )}
    </ConfirmDialog>
  )
}

const pageRows = 100

interface Place {
  readonly versionId: string
  readonly index: number
}

/** Reads a row of a version; nearby rows are fetched together. */
function useRow({ versionId, index }: Place) {
  const page = Math.floor(index / pageRows)
  const { data } = useAnswer('datasets.rows', { versionId, from: page * pageRows, count: pageRows })
  return data?.rows[index % pageRows]
}

/** Lists all rows, reading only the visible ones. */
function RowsTab({ version: { id, rows, columns } }: Pick<Opened, 'version'>) {
  const { query } = useRoute()
  const asked = Number(query.get('row') ?? 1) - 1
  const at = Number.isInteger(asked) && asked >= 0 && asked < rows ? asked : 0
  const choose = (index: number) => setQuery({ row: String(index + 1) })
  const numbers = useMemo(() => Array.from({ length: rows }, (_, index) => index), [rows])
  const shown = useMemo(
    () => rowColumns(columns, rows, (index, name) => <PagedCell versionId={id} index={index} name={name} />),
    [id, columns, rows],
  )
  return (
    <SplitPane id="data.rows" sizes={[68, 32]} minimums={[320, 240]}>
      <Table
        label="Rows"
        rows={numbers}
        columns={shown}
        rowKey={String}
        rowHeight={28}
        isSelected={(index) => index === at}
        onOpen={choose}
        startAt={at}
      />
      <ChosenRow versionId={id} index={at} />
    </SplitPane>
  )
}

function PagedCell({ name, ...place }: Place & { readonly name: string }) {
  const row = useRow(place)
  return row === undefined ? null : <Cell value={row[name]} />
}

function ChosenRow(place: Place) {
  const row = useRow(place)
  return row === undefined ? null : <RowDetail row={row} number={place.index + 1} />
}

const columns: readonly Column<RowProblem>[] = [
  numberColumn(['number', 'Row', '80px'], ({ number }) => number, formatCount),
  numberColumn(['line', 'Line', '80px'], ({ line }) => line, formatCount),
  plainColumn(
    ['sentence', 'What is wrong', 'minmax(320px, 1fr)'],
    ({ sentence }) => <span title={sentence}>{capitalized(sentence)}</span>,
    ({ sentence }) => sentence,
  ),
]

/** Lists rows of a file that were left out, with their position. */
export function ProblemRows({ problems }: { problems: readonly RowProblem[] }) {
  const rows = useMemo(() => problems, [problems])
  const shared = sharedSentence(problems)
  return (
    <>
      {shared !== null && <p className="px-4 pb-2 text-pretty">{capitalized(shared)}.</p>}
      <Table
        label="Rows with problems"
        rows={rows}
        columns={columns}
        rowKey={({ number, sentence }, at) => `${String(number)} ${String(at)} ${sentence}`}
        rowHeight={28}
      />
    </>
  )
}

/** Returns the problem that all rows share, whose remedy a line of the list may be too short for; null if they differ. */
export function sharedSentence(problems: readonly RowProblem[]): string | null {
  const [first, ...others] = problems
  const isShared = first !== undefined && others.every(({ sentence }) => sentence === first.sentence)
  return isShared ? first.sentence : null
}

const capitalized = (sentence: string): string => `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`
