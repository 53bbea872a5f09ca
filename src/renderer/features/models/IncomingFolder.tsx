import { useState, type ReactNode } from 'react'
import { useArrivals, type ArrivingFolder } from '#renderer/client/adding.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Cautions } from '#renderer/kit/Cautions.tsx'
import { Busy, CopyButton, ErrorNote, Loading, TaskProgress } from '#renderer/kit/states.tsx'
import { isGguf } from '#renderer/client/fileDialog.ts'
import type { FileSource } from '#renderer/client/connection.ts'
import { navigate } from '#renderer/client/route.ts'
import { toast } from '#renderer/client/toasts.ts'
import { Panel } from '#renderer/kit/Page.tsx'
import { useDiscardFolder, useImportModel } from '#renderer/parts/useModels.ts'
import { importName, isImportName } from '#renderer/parts/exportPlan.ts'
import { ModelFacts, type ModelInfo } from './ModelFacts.tsx'
import { Form, TextField } from '#renderer/kit/inputs.tsx'

/** A dropped or chosen folder or GGUF file and its contents, before it is copied. */
export function IncomingFolder({ folder: { name, kind, source } }: { folder: ArrivingFolder }) {
  const path = source !== null && 'path' in source ? source.path : null
  return (
    <div className="min-h-0 grow overflow-auto px-6 py-4">
      <div className="max-w-180">
        <h2 className="text-xl font-semibold break-words">{name}</h2>
        {path !== null && (
          <p className="flex items-center gap-1 text-muted">
            <span className="min-w-0 truncate font-mono text-sm">{path}</span>
            <CopyButton text={path} label="Copy path" />
          </p>
        )}
        <div className="mt-4">
          {source === null ? <Sending /> : <Looked name={name} kind={kind} source={source} />}
        </div>
      </div>
    </div>
  )
}

const Sending = () => (
  <div className="flex items-center gap-3">
    <Busy label="Sending the files to the host" />
    <Button onClick={() => useArrivals.setState({ model: null })}>Cancel</Button>
  </div>
)

interface LookedProps {
  readonly name: string
  readonly kind: ArrivingFolder['kind']
  readonly source: NonNullable<ArrivingFolder['source']>
}

/** Inspects a chosen folder, which reveals only now whether it is an adapter. */
function Looked({ name, kind, source }: LookedProps) {
  const path = 'path' in source ? source.path : undefined
  const inside = useAnswer('system.browse', path === undefined ? {} : { path }, {
    enabled: path !== undefined && !isGguf(path),
  })
  const isAdapter =
    kind === 'adapter' || inside.data?.entries.some((entry) => entry.name === 'adapter_config.json') === true
  const discard = useDiscardFolder()
  const { data: found, error } = useAnswer('models.inspect', source, { enabled: !isAdapter })
  const onDiscard = () => discard(source)
  if (isAdapter) return <ImportAdapter name={name} source={source} onDiscard={onDiscard} />
  if (error !== null) return <ErrorNote error={error} action={<Button onClick={onDiscard}>Discard</Button>} />
  if (found === undefined) return <Loading label="Reading the files" />
  if (!('problem' in found)) {
    return <ImportModel name={name} source={source} info={found} onDiscard={onDiscard} />
  }
  return (
    <ErrorNote
      error={{
        message: found.problem,
        hint: 'Nothing was changed. A model is a folder with config.json, tokenizer.json and safetensors, or a GGUF file.',
      }}
      action={<Button onClick={onDiscard}>Discard</Button>}
    />
  )
}

interface ImportAdapterProps {
  readonly name: string
  readonly source: FileSource
  readonly onDiscard: () => void
}

/** Imports an adapter trained here or elsewhere. */
function ImportAdapter({ name: folderName, source, onDiscard }: ImportAdapterProps) {
  const [name, setName] = useState(importName(folderName))
  const { data: adapters = [] } = useAnswer('models.adapters', undefined)
  const load = useCommand('models.importAdapter', {
    quiet: true,
    onDone(adapter) {
      toast({ title: `The adapter “${adapter.name}” was imported.`, tone: 'good' })
      useArrivals.setState({ model: null })
      navigate('/models', { adapter: adapter.name })
    },
  })
  return (
    <>
      <p className="font-medium">This folder is an adapter.</p>
      <p className="text-muted text-pretty">
        It contains what was trained on top of a base model. Every tensor is checked before it is copied; then
        a run can start from it, and Playground can use it.
      </p>
      <ImportForm
        action="Import adapter"
        name={name}
        onName={setName}
        isTaken={adapters.some((adapter) => adapter.name === name)}
        isRunning={load.isRunning}
        onImport={() => void load.run({ ...source, name })}
        onDiscard={onDiscard}
      />
      {load.error !== null && <ErrorNote error={load.error} />}
    </>
  )
}

interface ImportModelProps {
  readonly name: string
  readonly source: FileSource
  readonly info: ModelInfo
  readonly onDiscard: () => void
}

function ImportModel({ name: folderName, source, info, onDiscard }: ImportModelProps) {
  const [name, setName] = useState(importName(info.ownName ?? folderName.replace(/\.gguf$/i, '')))
  const [hubId, setHubId] = useState(info.hubId ?? '')
  const { data: models = [] } = useAnswer('models.list', undefined)
  const task = useImportModel()
  const isRunning = task.state === 'running'
  return (
    <>
      <Cautions sentences={info.notes} />
      <Panel title="Card">
        <ModelFacts info={info} />
      </Panel>
      <ImportForm
        action="Import model"
        name={name}
        onName={setName}
        isTaken={models.some((model) => model.name === name)}
        isRunning={isRunning}
        onImport={() => task.start({ ...source, name, hubId: hubId.trim() === '' ? null : hubId.trim() })}
        onDiscard={isRunning ? task.cancel : onDiscard}
      >
        <TextField
          label="Hub id"
          note="Optional, such as Qwen/Qwen2.5-0.5B: adapters then name their base model. No request is made to the hub."
          value={hubId}
          onChange={setHubId}
          disabled={isRunning}
        />
      </ImportForm>
      {isRunning && task.last !== undefined && 'progress' in task.last && (
        <TaskProgress progress={{ ...task.last.progress, total: null }} />
      )}
      {task.error !== null && <ErrorNote error={task.error} className="mt-3" />}
    </>
  )
}

interface ImportFormProps {
  readonly action: string
  readonly name: string
  readonly onName: (name: string) => void
  readonly isTaken: boolean
  readonly isRunning: boolean
  readonly onImport: () => void
  readonly children?: ReactNode
  /** Cancels a running import, or discards the folder. */
  readonly onDiscard: () => void
}

function ImportForm(props: ImportFormProps) {
  const { action, name, onName, isTaken, isRunning, onImport, onDiscard, children } = props
  return (
    <Form
      className="my-4 flex flex-col gap-4"
      onSubmit={() => !isRunning && !isTaken && isImportName(name) && onImport()}
    >
      <TextField
        label="Name"
        error={nameProblem(name, isTaken)}
        note="The files are copied into Turnwise’s folder; these stay as they are."
        value={name}
        onChange={onName}
        disabled={isRunning}
      />
      {children}
      <div className="flex items-center gap-2">
        <Button type="submit" variant="primary" disabled={isRunning || isTaken || !isImportName(name)}>
          {action}
        </Button>
        <Button variant="quiet" onClick={onDiscard}>
          {isRunning ? 'Cancel' : 'Discard'}
        </Button>
      </div>
    </Form>
  )
}

function nameProblem(name: string, isTaken: boolean): string | null {
  if (isTaken) return 'This name is already in use.'
  return isImportName(name) ? null : 'Letters, digits, dots and dashes.'
}
