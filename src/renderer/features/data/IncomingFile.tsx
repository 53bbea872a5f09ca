import { useMemo, useState, type ReactNode } from 'react'
import type { Arrival } from '#renderer/client/adding.ts'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useImport, useSettled } from './useData.ts'
import { formatBytes, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { ErrorNote, Loading, TaskProgress } from '#renderer/kit/states.tsx'
import { columnFacts } from './columnFacts.ts'
import { ColumnList } from './ColumnList.tsx'
import { IncomingRows } from './IncomingRows.tsx'
import { formOf, formProblems, mappingOf, promptOf, type MappingForm } from './mappingForm.ts'
import { MappingFields } from './MappingFields.tsx'
import { shapeSentence } from './shapeWords.ts'

interface IncomingFileProps {
  readonly arrival: Arrival
  readonly into: string | null
  readonly onDiscard: () => void
  /** The others that wait, if there are any. */
  readonly files: ReactNode
}

/** The first look at a file. */
export function IncomingFile(props: IncomingFileProps) {
  const { arrival, onDiscard, files } = props
  const { data, error } = useAnswer('datasets.inspect', { source: arrival.source })
  if (data !== undefined) return <Decision {...props} file={data} />
  return (
    <Page isFull title={`Add ${arrival.name}`} main={<Button onClick={onDiscard}>Discard</Button>}>
      <div className="flex min-h-0 grow">
        {files}
        {error === null ? (
          <Loading label={`Reading ${arrival.name}`} />
        ) : (
          <div className="min-w-0 grow p-8">
            <ErrorNote error={error} />
          </div>
        )}
      </div>
    </Page>
  )
}

type Inspection = Answer<'datasets.inspect'>

/** A split of a hub has no ending, but may have a dot. */
const dataEnding = /\.(?:csv|tsv|json|jsonl|ndjson|parquet)$/i

/** What it will be imported as. */
function Decision({ arrival, into, onDiscard, files, file }: IncomingFileProps & { file: Inspection }) {
  const facts = useMemo(() => factsOf(file), [file])
  const [changed, setForm] = useState<MappingForm | null>(null)
  const form = useMemo(() => changed ?? formOf(file.shape, facts), [changed, file, facts])
  const [name, setName] = useState(arrival.name.replace(dataEnding, ''))
  const [target, setTarget] = useState(into ?? '')
  const mapping = useMemo(() => mappingOf(form, facts), [form, facts])
  const asked = useSettled(mapping)
  const mapped = useAnswer('datasets.inspect', { source: arrival.source, mapping: asked }, { keep: true })
  const task = useImport(arrival, promptOf(form, facts))
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
            onClick={() => task.start({ source: arrival.source, mapping, ...named })}
          >
            {target === '' ? 'Import' : 'Import as new version'}
          </Button>
        </>
      }
      toolbar={
        isRunning && progress !== null ? (
          <div className="min-w-0 grow">
            <TaskProgress progress={progress} />
          </div>
        ) : undefined
      }
    >
      {task.error !== null && <ErrorNote error={task.error} className="mx-8 mt-3" />}
      <div className="flex min-h-0 grow">
        {files}
        <SplitPane id="data.incoming" sizes={[36, 64]} minimums={[340, 360]}>
          <div className="min-h-0 grow overflow-auto py-4 pr-6 pl-page">
            <p className="font-medium">{sentenceCase(file.shape.title)}</p>
            <p className="mb-4 text-muted text-pretty">{shapeSentence(file.shape.id, file.columns.length)}</p>
            <MappingFields facts={facts} form={form} onChange={setForm} />
            <h2 className="mt-6 mb-1 flex h-6 items-center font-medium">
              Columns
              {changed !== null && (
                <Button small variant="quiet" className="ml-auto" onClick={() => setForm(null)}>
                  Back to what was detected
                </Button>
              )}
            </h2>
            <ColumnList columns={file.columns} form={form} onChange={setForm} />
            <h2 className="mt-6 mb-1 flex h-6 items-center font-medium">Data set</h2>
            <TargetFields target={target} onTarget={setTarget} name={name} onName={setName} />
          </div>
          <IncomingRows file={file} mapped={mapped.data} error={mapped.error} formProblems={problems} />
        </SplitPane>
      </div>
    </Page>
  )
}

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
      <Field label="Import as">
        {(ids) => (
          <Select
            {...ids}
            value={target}
            options={[
              { value: '', label: 'A new data set' },
              ...dataSets.map((set) => ({ value: set.id, label: `New version of “${set.name}”` })),
            ]}
            onChange={onTarget}
          />
        )}
      </Field>
      {target === '' && (
        <Field label="Name" error={name.trim() === '' ? 'Give it a name.' : null}>
          {(ids) => <TextInput {...ids} value={name} onChange={onName} />}
        </Field>
      )}
    </div>
  )
}

const sentenceCase = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
