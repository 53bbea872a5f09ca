import { Ellipsis, FolderOpen, Play, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { shell } from '#renderer/client/connection.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { DeleteModel } from './DeleteModel.tsx'
import type { ListedModel } from '#renderer/client/modelChoice.ts'
import { ModelFacts } from './ModelFacts.tsx'
import { RoundingPanel } from './RoundingPanel.tsx'
import { TrainedHere } from './TrainedHere.tsx'
import { TryTokens } from './TryTokens.tsx'

/** One model: what it is, how it reads a text, what was trained on it. */
export function ModelPage({ model }: { model: ListedModel }) {
  const isUsable = !('problem' in model)
  const { data: info, error } = useAnswer('models.info', { model: model.name }, { enabled: isUsable })
  const [isDeleting, setDeleting] = useState(false)
  // The one that comes with the program is no file of a person's.
  const canDelete = !isUsable || info?.isBuiltIn === false
  return (
    <div className="min-h-0 grow overflow-auto px-6 py-4">
      <header className="mb-4 flex min-h-7 items-center gap-2">
        <h2 className="truncate text-xl font-semibold">{model.name}</h2>
        {info?.isBuiltIn === true && <Badge tone="accent">Built in</Badge>}
        <span className="ml-auto flex items-center gap-2">
          <Menu
            groups={[
              shell === null
                ? []
                : [
                    {
                      label: 'Show in folder',
                      icon: <FolderOpen size={13} aria-hidden />,
                      onSelect: () => void shell?.reveal(model.directory),
                    },
                  ],
              [
                {
                  label: 'Delete',
                  icon: <Trash2 size={13} aria-hidden />,
                  isDangerous: true,
                  disabled: !canDelete,
                  onSelect: () => setDeleting(true),
                },
              ],
            ]}
          >
            <IconButton label="More actions" icon={<Ellipsis size={16} aria-hidden />} />
          </Menu>
          {isUsable && (
            <Button
              icon={<Play size={13} aria-hidden />}
              onClick={() => navigate('/new-run', { model: model.name })}
            >
              Train this
            </Button>
          )}
        </span>
      </header>
      {'problem' in model && (
        <ErrorNote
          error={{ message: model.problem, hint: 'Delete it, or put the missing files into its folder.' }}
        />
      )}
      {error !== null && <ErrorNote error={error} />}
      {isUsable && info === undefined && error === null && <Loading />}
      {info !== undefined && (
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 min-[1200px]:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
          <Panel title="Card">
            <ModelFacts isListed info={info} />
          </Panel>
          <div className="flex min-w-0 flex-col gap-4">
            <TryTokens model={model.name} hasChatTemplate={info.hasChatTemplate} />
            <RoundingPanel key={model.name} model={model.name} />
          </div>
          <div className="min-w-0 min-[1200px]:col-span-2">
            <TrainedHere directory={info.directory} />
          </div>
        </div>
      )}
      {isDeleting && <DeleteModel model={model} onClose={() => setDeleting(false)} />}
    </div>
  )
}
