import { Ellipsis, FolderOpen, Play, Swords, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { shell } from '#renderer/client/connection.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatBytes, formatCount, formatNumber } from '#renderer/client/format.ts'
import { writeChoice } from '#renderer/features/arena/contenders.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { KeyValue, Panel } from '#renderer/kit/Panel.tsx'
import { CopyButton, ErrorNote } from '#renderer/kit/states.tsx'
import { baseOf, type ListedAdapter } from '#renderer/client/modelChoice.ts'

/** One imported adapter. */
export function AdapterPage({ adapter }: { adapter: ListedAdapter }) {
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
              A run that continues it keeps its rank, scale and projections; its optimizer begins anew. It can
              also be what a run is kept close to (reference.adapter), and stand in the Arena beside its
              model.
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
        Its copy in Turnwise’s folder is removed. Finished runs that began with it stay; it cannot be deleted
        while a run that is not finished needs it.
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
