import { Box, CloudDownload, FileBox, FolderOpen, Plus } from 'lucide-react'
import { useState } from 'react'
import { keepers, modelOrigins } from '#shared/api/models.ts'
import { useArrivals, type ArrivingFolder } from '#renderer/client/adding.ts'
import { useRoute, link, navigate } from '#renderer/client/route.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { formatBytes, formatShort } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { findModel, type ListedAdapter, type ListedModel } from '#renderer/client/modelChoice.ts'
import { AdapterPage } from './AdapterPage.tsx'
import { BrowsePage } from './BrowsePage.tsx'
import { ExportPage } from './ExportPage.tsx'
import { HubModelDialog } from './HubModelDialog.tsx'
import { useAddModel } from '#renderer/parts/useModels.ts'
import { IncomingFolder } from './IncomingFolder.tsx'
import { ModelPage } from './ModelPage.tsx'

/**
 * `/models`, `/models/:name`: the models; `/models/browse`: finding others; `/models/export?run=&step=`, `?adapter=`:
 * exporting one.
 */
export function ModelsScreen() {
  const { here, rest, query } = useRoute()
  const incoming = useArrivals(({ model }) => model)
  const [name] = rest
  if (here?.view.id === 'export') {
    const step = /^\d+$/.exec(query.get('step') ?? '')?.[0]
    return (
      <ExportPage
        adapter={query.get('adapter')}
        runId={query.get('run')}
        step={step === undefined ? null : Number(step)}
      />
    )
  }
  if (here?.view.id === 'find') return <BrowsePage />
  // When the user opens a model, arrivals wait.
  const adapterName = query.get('adapter')
  const isHere = name === undefined && adapterName === null
  return <ModelsPage name={name ?? null} adapterName={adapterName} incoming={isHere ? incoming : null} />
}

interface ModelsPageProps {
  /** Name in the list; null: the first. */
  readonly name: string | null
  readonly adapterName: string | null
  readonly incoming: ArrivingFolder | null
}

/** Models of this machine: the list beside the chosen one. */
function ModelsPage({ name, adapterName, incoming }: ModelsPageProps) {
  const { data: models, error, refetch } = useAnswer('models.list', undefined)
  const addModel = useAddModel()
  const addFile = useAddModel('file')
  const [isHubOpen, setHubOpen] = useState(false)
  return (
    <Page
      isFull
      main={
        <>
          <Menu
            groups={[
              [
                { label: 'From a folder', icon: FolderOpen, run: addModel },
                { label: 'From a GGUF file', icon: FileBox, run: addFile },
                { label: 'From a hub', icon: CloudDownload, run: () => setHubOpen(true) },
              ],
            ]}
          >
            <Button variant="primary" icon={Plus}>
              Add a model
            </Button>
          </Menu>
          {isHubOpen && <HubModelDialog onClose={() => setHubOpen(false)} />}
        </>
      }
    >
      {error !== null && (
        <ErrorNote error={error} className="m-8" action={<Button onClick={refetch}>Try again</Button>} />
      )}
      {models === undefined && error === null && <Loading shape="table" />}
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
  // The first one when this page was opened: a model added meanwhile does not replace it.
  const [first] = useState(models[0]?.name)
  const chosen = name === null ? (findModel(models, first ?? '') ?? models[0]) : findModel(models, name)
  if (models.length === 0 && incoming === null) {
    return (
      <EmptyState
        icon={Box}
        title="Add a model to train"
        action={
          <div className="flex gap-2">
            <Button onClick={() => navigate('/models/browse')}>Find a model</Button>
            <Button variant="primary" onClick={onAdd}>
              Add a model
            </Button>
          </div>
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
  readonly chosen: string | undefined
}

function ModelList({ models, adapters, chosen }: ModelListProps) {
  return (
    <nav aria-label="Models and adapters" className="min-h-0 grow overflow-auto py-2">
      {[null, ...modelOrigins].map((origin) => (
        <ModelGroup
          key={origin}
          title={origin === null ? null : keepers[origin]}
          models={models.filter((model) => model.origin === origin)}
          chosen={chosen}
        />
      ))}
      {adapters.length > 0 && (
        <>
          <h2 className={groupTitle}>Adapters</h2>
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

const groupTitle = 'pt-4 pb-1 pl-page text-xs text-faint'

interface ModelGroupProps extends Pick<ModelListProps, 'models' | 'chosen'> {
  /** Program that owns them; null: Turnwise. */
  readonly title: string | null
}

function ModelGroup({ title, models, chosen }: ModelGroupProps) {
  if (models.length === 0) return null
  return (
    <>
      {title !== null && <h2 className={groupTitle}>{title}</h2>}
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
    </>
  )
}

interface ListItemProps {
  readonly href: string
  readonly title: string
  /** Null if it cannot be used. */
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
