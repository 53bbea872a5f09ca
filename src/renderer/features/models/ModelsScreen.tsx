import {
  Box,
  CloudDownload,
  FolderOpen,
  Gauge,
  PackageOpen,
  Plus,
  Ellipsis,
  Play,
  Swords,
  Trash2,
} from 'lucide-react'
import { useState } from 'react'
import { useArrivals, type ArrivingFolder } from '#renderer/client/adding.ts'
import { useRoute, link, navigate } from '#renderer/client/route.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { formatBytes, formatShort, formatCount, formatNumber } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { Page, KeyValue, Panel } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { EmptyState, ErrorNote, Loading, CopyButton } from '#renderer/kit/states.tsx'
import { findModel, type ListedAdapter, type ListedModel, baseOf } from '#renderer/client/modelChoice.ts'
import { HubDialog } from '#renderer/kit/HubDialog.tsx'
import { shell } from '#renderer/client/connection.ts'
import { toast } from '#renderer/client/toasts.ts'
import { writeChoice } from '#renderer/features/arena/candidates.ts'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { ExportPage } from './ExportPage.tsx'
import { useAddModel, useFetchModel } from './useModels.ts'
import { IncomingFolder } from './IncomingFolder.tsx'
import { ModelPage } from './ModelPage.tsx'

/** `/models`, `/models/:name`: the models; `/models/export?run=&step=`: taking one out of the program. */
export function ModelsScreen() {
  const { path, query } = useRoute()
  const incoming = useArrivals(({ model }) => model)
  const [, name] = path
  if (name === 'export') {
    const step = /^\d+$/.exec(query.get('step') ?? '')?.[0]
    return <ExportPage runId={query.get('run')} step={step === undefined ? null : Number(step)} />
  }
  // Where somebody goes to a model, what arrived waits.
  const adapterName = query.get('adapter')
  const isHere = name === undefined && adapterName === null
  return <ModelsPage name={name ?? null} adapterName={adapterName} incoming={isHere ? incoming : null} />
}

interface ModelsPageProps {
  /** Name in the list; null: the first. */
  readonly name: string | null
  /** Name of an imported adapter, where one is chosen. */
  readonly adapterName: string | null
  /** A folder to be looked at. */
  readonly incoming: ArrivingFolder | null
}

/** Models of this machine: the list beside the one that is chosen. */
function ModelsPage({ name, adapterName, incoming }: ModelsPageProps) {
  const { data: models, error, refetch } = useAnswer('models.list', undefined)
  const addModel = useAddModel()
  const [isHubOpen, setHubOpen] = useState(false)
  return (
    <Page
      isFull
      title="Models & export"
      main={
        <>
          <Menu
            groups={[
              [
                { label: 'From a folder', icon: <FolderOpen size={13} aria-hidden />, onSelect: addModel },
                {
                  label: 'From a hub',
                  icon: <CloudDownload size={13} aria-hidden />,
                  onSelect: () => setHubOpen(true),
                },
              ],
            ]}
          >
            <Button icon={<Plus size={14} aria-hidden />}>Add a model</Button>
          </Menu>
          {isHubOpen && <HubModelDialog onClose={() => setHubOpen(false)} />}
          <Button
            variant="primary"
            icon={<PackageOpen size={14} aria-hidden />}
            onClick={() => navigate('/models/export')}
          >
            Export
          </Button>
        </>
      }
    >
      {error !== null && (
        <ErrorNote error={error} className="m-8" action={<Button onClick={refetch}>Try again</Button>} />
      )}
      {models === undefined && error === null && <Loading />}
      {models !== undefined && (
        <Library models={models} name={name} adapterName={adapterName} incoming={incoming} onAdd={addModel} />
      )}
    </Page>
  )
}

interface LibraryProps extends ModelsPageProps {
  readonly models: readonly ListedModel[]
  readonly onAdd: () => void
}

function Library({ models, name, adapterName, incoming, onAdd }: LibraryProps) {
  const { data: adapters = [] } = useAnswer('models.adapters', undefined)
  const adapter = adapters.find((candidate) => candidate.name === adapterName)
  // The first as this page was opened: a model that is added meanwhile does not take its place.
  const [first] = useState(models[0]?.name)
  const chosen = name === null ? (findModel(models, first ?? '') ?? models[0]) : findModel(models, name)
  if (models.length === 0 && incoming === null) {
    return (
      <EmptyState
        icon={<Box size={28} strokeWidth={1.5} aria-hidden />}
        title="Add a model to train"
        action={
          <Button variant="primary" onClick={onAdd}>
            Add a model
          </Button>
        }
      >
        Choose the folder of a model: config.json, tokenizer.json and safetensors, as they are downloaded.
      </EmptyState>
    )
  }
  return (
    <SplitPane id="models" sizes={[20, 80]} minimums={[220, 480]}>
      <ModelList
        models={models}
        adapters={adapters}
        chosen={incoming === null ? (adapter ?? chosen)?.directory : undefined}
      />
      <div className="flex min-h-0 grow flex-col">
        {incoming !== null ? (
          <IncomingFolder key={incoming.name} folder={incoming} />
        ) : adapter !== undefined ? (
          <AdapterPage key={adapter.name} adapter={adapter} />
        ) : chosen === undefined ? (
          <p className="p-8 text-muted">There is no model “{name}”. It may have been deleted.</p>
        ) : (
          <ModelPage key={chosen.name} model={chosen} />
        )}
      </div>
    </SplitPane>
  )
}

interface ModelListProps {
  readonly models: readonly ListedModel[]
  readonly adapters: readonly ListedAdapter[]
  /** Folder of the one that is shown. */
  readonly chosen: string | undefined
}

function ModelList({ models, adapters, chosen }: ModelListProps) {
  return (
    <nav aria-label="Models and adapters" className="min-h-0 grow overflow-auto py-2">
      <ul>
        {models.map((model) => (
          <ListItem
            key={model.name}
            href={link(`/models/${encodeURIComponent(model.name)}`)}
            title={model.name}
            facts={'problem' in model ? null : `${formatShort(model.parameters)} · ${model.architecture}`}
            isChosen={model.directory === chosen}
          />
        ))}
      </ul>
      {adapters.length > 0 && (
        <>
          <h2 className="pt-4 pb-1 pl-page text-xs text-faint">Adapters</h2>
          <ul>
            {adapters.map((adapter) => (
              <ListItem
                key={adapter.name}
                href={link('/models', { adapter: adapter.name })}
                title={adapter.name}
                facts={
                  'problem' in adapter
                    ? null
                    : `rank ${String(adapter.rank)} · ${formatBytes(adapter.sizeBytes)}`
                }
                isChosen={adapter.directory === chosen}
              />
            ))}
          </ul>
        </>
      )}
    </nav>
  )
}

interface ListItemProps {
  readonly href: string
  readonly title: string
  /** null: it cannot be used. */
  readonly facts: string | null
  readonly isChosen: boolean
}

function ListItem({ href, title, facts, isChosen }: ListItemProps) {
  return (
    <li>
      <a
        href={href}
        aria-current={isChosen ? 'page' : undefined}
        className="flex w-full flex-col gap-0.5 py-2 pr-4 pl-page -outline-offset-2 hover:bg-raised aria-[current=page]:bg-accent-soft"
      >
        <span className="flex w-full items-center gap-2">
          <span className="min-w-0 grow truncate font-medium">{title}</span>
          {facts === null && <Badge tone="bad">Unusable</Badge>}
        </span>
        {facts !== null && <span className="truncate text-sm text-muted">{facts}</span>}
      </a>
    </li>
  )
}

/** Fetches a model by its address; what came is looked at before it is imported. */
function HubModelDialog({ onClose }: { onClose: () => void }) {
  const [address, setAddress] = useState('')
  const task = useFetchModel(onClose)
  return (
    <HubDialog
      title="Add a model from a hub"
      note="owner/name, or the address of its page. Only weights as safetensors, tokenizer and texts are fetched; no code in it is run."
      address={address}
      onAddress={setAddress}
      action="Fetch model"
      onGoOn={() => task.start({ address })}
      isBusy={task.state === 'running'}
      task={task}
      error={task.error}
      onClose={onClose}
    />
  )
}

/** One imported adapter. */
function AdapterPage({ adapter }: { adapter: ListedAdapter }) {
  const { name, directory } = adapter
  const [isDeleting, setDeleting] = useState(false)
  const remove = useCommand('models.deleteAdapter', {
    onDone() {
      toast({ title: `“${name}” was deleted.` })
      navigate('/models')
    },
  })
  return (
    <div className="min-h-0 grow overflow-auto px-6 py-4">
      <header className="mb-4 flex min-h-7 items-center gap-2">
        <h2 className="truncate text-xl font-semibold">{name}</h2>
        <Badge>Adapter</Badge>
        <span className="ml-auto flex items-center gap-2">
          {!('problem' in adapter) && <Uses adapter={adapter} />}
          <Menu
            groups={[
              shell === null
                ? []
                : [
                    {
                      label: 'Show in folder',
                      icon: <FolderOpen size={13} aria-hidden />,
                      onSelect: () => void shell?.reveal(directory),
                    },
                  ],
              [
                {
                  label: 'Delete',
                  icon: <Trash2 size={13} aria-hidden />,
                  isDangerous: true,
                  onSelect: () => setDeleting(true),
                },
              ],
            ]}
          >
            <IconButton label="More actions" icon={<Ellipsis size={16} aria-hidden />} />
          </Menu>
        </span>
      </header>
      <div className="max-w-180">
        {'problem' in adapter ? (
          <ErrorNote error={{ message: adapter.problem, hint: 'Delete it and import it again.' }} />
        ) : (
          <Panel title="Card">
            <KeyValue
              entries={[
                ['Trained on', adapter.baseModel ?? <span className="text-faint">Not stated</span>],
                ['Rank', formatCount(adapter.rank)],
                ['Alpha', formatNumber(adapter.alpha)],
                ['Size', formatBytes(adapter.sizeBytes)],
                [
                  'Folder',
                  <span key="folder" className="flex items-start gap-1">
                    <span className="min-w-0 font-mono text-sm break-all">{directory}</span>
                    <CopyButton text={directory} label="Copy path" />
                  </span>,
                ],
              ]}
            />
            <p className="mt-3 text-muted text-pretty">
              A run that continues it keeps its rank, scale and projections and starts with a new optimizer.
              It can also be the reference policy of a run (reference.adapter), and be compared with its base
              model in the Arena.
            </p>
          </Panel>
        )}
      </div>
      <ConfirmDialog
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={`Delete “${name}”?`}
        action="Delete adapter"
        onConfirm={() => void remove.run({ name })}
      >
        Its copy in Turnwise’s folder is removed. Finished runs that started from it stay; it cannot be
        deleted while an unfinished run needs it.
      </ConfirmDialog>
    </div>
  )
}

/** Training on from it, and comparing it with its model, where that is here. */
function Uses({ adapter }: { adapter: ListedAdapter }) {
  const { data: models = [] } = useAnswer('models.list', undefined)
  const model = baseOf(adapter, models)
  const choice = model === undefined ? {} : { model }
  return (
    <>
      {model !== undefined && (
        <Button
          icon={<Swords size={14} aria-hidden />}
          onClick={() =>
            navigate('/arena', { a: writeChoice({ model, adapter: { path: adapter.directory } }), b: model })
          }
        >
          Compare in the Arena
        </Button>
      )}
      {model !== undefined && (
        <Button
          icon={<Gauge size={14} aria-hidden />}
          onClick={() =>
            navigate('/evaluations', { new: writeChoice({ model, adapter: { path: adapter.directory } }) })
          }
        >
          Evaluate…
        </Button>
      )}
      <Button
        variant="primary"
        icon={<Play size={14} aria-hidden />}
        onClick={() => navigate('/new-run', { ...choice, adapter: adapter.directory })}
      >
        Continue this adapter
      </Button>
    </>
  )
}
