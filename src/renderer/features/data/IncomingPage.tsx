import { FileText, TriangleAlert } from 'lucide-react'
import { useState, useMemo, type ComponentProps, type ReactNode } from 'react'
import type { Arrival } from '#renderer/client/adding.ts'
import { withoutDataEnding } from '#renderer/client/fileDialog.ts'
import { plural, formatBytes, formatCount } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { ErrorNote, Loading, TaskProgress } from '#renderer/kit/states.tsx'
import { Tabs } from '#renderer/kit/Tabs.tsx'
import { useSettled } from '#renderer/client/settled.ts'
import { useDiscard, useImport } from '#renderer/parts/useData.ts'
import { defaultSplit } from '#renderer/parts/preparation.ts'
import { columnFacts } from '#renderer/parts/columnFacts.ts'
import { ColumnList } from './ColumnList.tsx'
import { formOf, formProblems, mappingOf, promptOf, type MappingForm } from './mappingForm.ts'
import { MappingFields } from './MappingFields.tsx'
import { ProblemRows } from './VersionPage.tsx'
import { ListField, Recognised } from './Recognised.tsx'
import { RowDetail, RowsTable } from './RowsTable.tsx'
import { Checkbox, SelectField } from '#renderer/kit/choices.tsx'
import { TextField } from '#renderer/kit/inputs.tsx'

interface IncomingPageProps {
  readonly arrivals: readonly Arrival[]
  /** Data set to receive a new version; null: a new data set. */
  readonly into: string | null
}

/** Dropped or chosen files, each to be reviewed and imported or discarded. */
export function IncomingPage({ arrivals, into }: IncomingPageProps) {
  const [chosen, choose] = useState(arrivals.at(-1) ?? null)
  const [before, setBefore] = useState(arrivals)
  if (before !== arrivals) {
    setBefore(arrivals)
    // Show the files that the user has just added.
    const added = arrivals.findLast((arrival) => !before.includes(arrival))
    if (added !== undefined) choose(added)
  }
  const shown = chosen !== null && arrivals.includes(chosen) ? chosen : arrivals[0]
  const discard = useDiscard()
  if (shown === undefined) return null
  return (
    <IncomingFile
      key={JSON.stringify(shown.source)}
      arrival={shown}
      into={into}
      onDiscard={() => discard(shown)}
      files={
        arrivals.length > 1 && (
          <Files
            arrivals={arrivals}
            shown={shown}
            onChoose={choose}
            onDiscardAll={() => arrivals.forEach((arrival) => discard(arrival))}
          />
        )
      }
    />
  )
}

interface FilesProps {
  readonly arrivals: readonly Arrival[]
  readonly shown: Arrival
  readonly onChoose: (arrival: Arrival) => void
  readonly onDiscardAll: () => void
}

function Files({ arrivals, shown, onChoose, onDiscardAll }: FilesProps) {
  return (
    <nav
      aria-label="Files to import or discard"
      className="flex w-56 shrink-0 flex-col border-r narrow:max-h-56 narrow:w-full narrow:border-r-0 narrow:border-b border-line bg-panel"
    >
      <p className="flex h-9 shrink-0 items-center border-b border-line px-4 text-sm font-medium text-muted">
        {plural(arrivals.length, 'file')} to decide about
      </p>
      <ul className="min-h-0 grow overflow-auto py-1">
        {arrivals.map((arrival, at) => (
          <li key={`${String(at)} ${arrival.name}`}>
            <button
              type="button"
              aria-current={arrival === shown}
              onClick={() => onChoose(arrival)}
              className="flex h-8 w-full items-center gap-2 px-4 text-left -outline-offset-2 hover:bg-raised aria-[current=true]:bg-accent-soft aria-[current=true]:text-accent-ink"
            >
              <FileText size={14} aria-hidden className="shrink-0" />
              <span className="truncate">{arrival.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <div className="border-t border-line p-2">
        <Button small variant="quiet" onClick={onDiscardAll}>
          Discard all
        </Button>
      </div>
    </nav>
  )
}

interface IncomingFileProps {
  readonly arrival: Arrival
  readonly into: string | null
  readonly onDiscard: () => void
  readonly files: ReactNode
}

function IncomingFile(props: IncomingFileProps) {
  const { arrival, onDiscard, files } = props
  const [split, setSplit] = useState<string | undefined>(undefined)
  const { data, error } = useAnswer('datasets.inspect', { source: arrival.source, split })
  const field = /\.json(?:\.\w+)?$/i.test(arrival.name) && <ListField split={split} onSplit={setSplit} />
  if (data !== undefined)
    return (
      <Decision key={split} {...props} file={data} split={split} listField={data.notes.length > 0 && field} />
    )
  return (
    <Page isFull title={`Add ${arrival.name}`} main={<Button onClick={onDiscard}>Discard</Button>}>
      <div className="flex min-h-0 grow">
        {files}
        {error === null ? (
          <Loading label={`Reading ${arrival.name}`} />
        ) : (
          <div className="min-w-0 grow p-8">
            <ErrorNote error={error} />
            {field}
          </div>
        )}
      </div>
    </Page>
  )
}

type Inspection = Answer<'datasets.inspect'>

/** Names of files whose rows are all for validation. */
const heldOutName = /valid|held.?out|test|\bdev\b|eval/i

interface DecisionProps extends IncomingFileProps {
  readonly file: Inspection
  readonly split: string | undefined
  readonly listField: ReactNode
}

function Decision({ arrival, into, onDiscard, files, file, split, listField }: DecisionProps) {
  const facts = useMemo(() => factsOf(file), [file])
  const [changed, setForm] = useState<MappingForm | null>(null)
  const form = useMemo(() => changed ?? formOf(file.shape, facts), [changed, file, facts])
  const [name, setName] = useState(withoutDataEnding(arrival.name))
  const [target, setTarget] = useState(into ?? '')
  const mapping = useMemo(() => mappingOf(form, facts), [form, facts])
  const asked = useSettled(mapping)
  const { source } = arrival
  const mapped = useAnswer('datasets.inspect', { source, mapping: asked, split }, { keep: true })
  const [isSplit, setIsSplit] = useState(!heldOutName.test(arrival.name))
  const task = useImport(arrival, { prompt: promptOf(form, facts), heldOut: isSplit ? defaultSplit : null })
  const problems = formProblems(form)
  const isRunning = task.state === 'running'
  const progress = task.last !== undefined && 'progress' in task.last ? task.last.progress : null
  const named = target === '' ? { name: name.trim() } : { dataSetId: target }
  return (
    <Page
      isFull
      title={`Add ${arrival.name}`}
      about={<FileFacts file={file} />}
      main={
        <>
          <Button onClick={isRunning ? task.cancel : onDiscard}>{isRunning ? 'Cancel' : 'Discard'}</Button>
          <Button
            variant="primary"
            disabled={isRunning || problems.length > 0 || named.name === ''}
            onClick={() => task.start({ source, mapping, split, ...named })}
          >
            {target === '' ? 'Import' : 'Import as new version'}
          </Button>
        </>
      }
      toolbar={isRunning && progress !== null ? <Importing progress={progress} /> : undefined}
    >
      {task.error !== null && <ErrorNote error={task.error} className="mx-8 mt-3" />}
      <div className="flex min-h-0 grow">
        {files}
        <SplitPane id="data.incoming" sizes={[36, 64]} minimums={[340, 360]}>
          <div className="min-h-0 grow overflow-auto py-4 pr-6 pl-page">
            <Recognised file={file} />
            {listField}
            <MappingFields facts={facts} form={form} template={file.shape.template} onChange={setForm} />
            <ColumnsHeading onReset={changed === null ? null : () => setForm(null)} />
            <ColumnList columns={file.columns} form={form} onChange={setForm} />
            <Heading>Data set</Heading>
            <TargetFields target={target} onTarget={setTarget} name={name} onName={setName} />
            <Checkbox
              checked={isSplit}
              onChange={setIsSplit}
              label="Keep 10 % of the rows for validation, never trained on"
            />
          </div>
          <IncomingRows file={file} mapped={mapped.data} error={mapped.error} formProblems={problems} />
        </SplitPane>
      </div>
    </Page>
  )
}

const Heading = ({ children }: { children: ReactNode }) => (
  <h2 className="mt-6 mb-1 flex h-6 items-center font-medium">{children}</h2>
)

const ColumnsHeading = ({ onReset }: { onReset: (() => void) | null }) => (
  <Heading>
    Columns
    {onReset !== null && (
      <Button small variant="quiet" className="ml-auto" onClick={onReset}>
        Reset to detected
      </Button>
    )}
  </Heading>
)

const Importing = (props: ComponentProps<typeof TaskProgress>) => (
  <div className="min-w-0 grow">
    <TaskProgress {...props} />
  </div>
)

const factsOf = ({ columns, rows }: Inspection) =>
  columnFacts(
    columns.map(({ name }) => name),
    rows,
  )

function FileFacts({ file: { format, sizeBytes, columns, rows, problems, isWhole } }: { file: Inspection }) {
  const counted = isWhole ? ` · ${plural(rows.length + problems.length, 'row')}` : ''
  return (
    <>
      <Badge tone="accent">{format.title}</Badge>
      <span className="truncate tabular-nums">
        {formatBytes(sizeBytes)} · {plural(columns.length, 'column')}
        {counted} · nothing is imported yet
      </span>
    </>
  )
}

interface TargetFieldsProps {
  /** Id of a data set; empty: a new one. */
  readonly target: string
  readonly onTarget: (target: string) => void
  readonly name: string
  readonly onName: (name: string) => void
}

function TargetFields({ target, onTarget, name, onName }: TargetFieldsProps) {
  const { data: dataSets = [] } = useAnswer('datasets.list', undefined)
  return (
    <div className="flex flex-col gap-3">
      <SelectField
        label="Import as"
        value={target}
        options={[
          { value: '', label: 'A new data set' },
          ...dataSets.map((set) => ({ value: set.id, label: `New version of “${set.name}”` })),
        ]}
        onChange={onTarget}
      />
      {target === '' && (
        <TextField
          label="Name"
          error={name.trim() === '' ? 'Give it a name.' : null}
          value={name}
          onChange={onName}
        />
      )}
    </div>
  )
}

interface IncomingRowsProps {
  readonly file: Inspection
  /** Rows as they would be imported; undefined while loading. */
  readonly mapped: Inspection | undefined
  readonly error: Error | null
  readonly formProblems: readonly string[]
}

type View = 'after' | 'before' | 'problems'

/** The first rows, before and after mapping, and those that will be left out. */
function IncomingRows({ file, mapped, error, formProblems }: IncomingRowsProps) {
  const [view, setView] = useState<View>('after')
  const bad = mapped?.problems ?? file.problems
  const shown = view === 'before' ? file : mapped
  return (
    <Tabs<View>
      label="Rows of the file"
      value={view}
      onChange={setView}
      className="flex flex-col"
      tabs={[
        { id: 'after', label: 'As imported' },
        { id: 'before', label: 'As in the file' },
        {
          id: 'problems',
          label: 'Problems',
          mark: bad.length > 0 && <Badge tone="caution">{formatCount(bad.length)}</Badge>,
        },
      ]}
      aside={
        <span className="text-sm text-faint">
          {file.isWhole
            ? `All ${plural(file.rows.length, 'row')}`
            : `First ${plural(file.rows.length, 'row')}`}
        </span>
      }
    >
      {formProblems.map((sentence) => (
        <p key={sentence} role="alert" className="flex items-center gap-2 bg-caution-soft px-4 py-2">
          <TriangleAlert size={14} aria-hidden className="text-caution" />
          {sentence}
        </p>
      ))}
      {error !== null && <ErrorNote error={error} className="m-4" />}
      {view === 'problems' && <Problems problems={bad} isWhole={file.isWhole} />}
      {view !== 'problems' && shown === undefined && error === null && <Loading shape="table" />}
      {view !== 'problems' && shown !== undefined && <FirstRows key={view} shown={shown} />}
    </Tabs>
  )
}

function Problems({ problems, isWhole }: { problems: Inspection['problems']; isWhole: boolean }) {
  if (problems.length === 0) {
    return (
      <p className="p-4 text-muted">
        {isWhole
          ? 'Every row can be read.'
          : 'All of the first rows can be read. The import checks the others.'}
      </p>
    )
  }
  return (
    <>
      <p className="px-4 py-2 text-muted">These rows will be left out; the others are imported.</p>
      <ProblemRows problems={problems} />
    </>
  )
}

/** The table, and below it the row under the pointer. */
function FirstRows({ shown }: { shown: Inspection }) {
  const [at, setAt] = useState(0)
  const columns = useMemo(() => {
    const known = new Map(shown.columns.map((column) => [column.name, column]))
    const names = [...new Set(shown.rows.flatMap((row) => Object.keys(row)))]
    return names.map((name) => known.get(name) ?? { name, length: null })
  }, [shown])
  const row = shown.rows[at] ?? shown.rows[0]
  if (row === undefined) return <p className="p-4 text-muted">No row is left.</p>
  return (
    <SplitPane id="data.incoming.rows" direction="vertical" sizes={[64, 36]} minimums={[120, 96]}>
      <RowsTable
        label="First rows"
        columns={columns}
        rows={shown.rows}
        selected={Math.min(at, shown.rows.length - 1)}
        onSelect={setAt}
      />
      <RowDetail isWide row={row} number={Math.min(at, shown.rows.length - 1) + 1} />
    </SplitPane>
  )
}
