import { Ellipsis, FolderOpen, Play, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { shell } from '#renderer/client/connection.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { Badge, StatusBadge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { Panel } from '#renderer/kit/Panel.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import type { ListedModel } from '#renderer/client/modelChoice.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatBytes, formatNumber, plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { useSettled } from '#renderer/client/settled.ts'
import { Segmented } from '#renderer/kit/choices.tsx'
import { TextArea } from '#renderer/kit/inputs.tsx'
import { TokenText } from '#renderer/kit/TokenText.tsx'
import { ModelFacts } from './ModelFacts.tsx'
import { TrainedHere } from './TrainedHere.tsx'
import { RoundingPanel } from './RoundingPanel.tsx'

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

const mostShown = 8

/** Says which runs need the model before it is gone. */
function DeleteModel({ model, onClose }: { model: ListedModel; onClose: () => void }) {
  const { name, directory } = model
  const { runs, isLoaded } = useRuns()
  const needing = runs.filter((run) => run.model === directory)
  const unfinished = needing.filter(({ status }) => status !== 'finished')
  const shown = unfinished.length > 0 ? unfinished : needing
  const remove = useCommand('models.delete', {
    onDone() {
      toast({ title: `“${name}” was deleted.` })
      navigate('/models')
    },
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Delete “${name}”?`}
      action="Delete model"
      isDisabled={!isLoaded || unfinished.length > 0}
      onConfirm={() => void remove.run({ name })}
    >
      <p>
        Its copy in Turnwise’s folder{'sizeBytes' in model && ` (${formatBytes(model.sizeBytes)})`} is
        removed. The folder it was imported from stays.
      </p>
      {shown.length === 0 && <p className="mt-2">No run needs it.</p>}
      {shown.length > 0 && (
        <>
          <p className="mt-2">
            {unfinished.length > 0
              ? 'It cannot be deleted while runs that are not finished need it. Delete those runs first:'
              : 'These finished runs were trained on it. Their adapters stay, but do nothing without it:'}
          </p>
          <ul className="mt-1 flex flex-col gap-1">
            {shown.slice(0, mostShown).map((run) => (
              <li key={run.id} className="flex items-center gap-2 text-text">
                <span className="truncate">{runTitle(run)}</span>
                <StatusBadge status={run.status} />
              </li>
            ))}
          </ul>
          {shown.length > mostShown && <p className="mt-1">and {shown.length - mostShown} more.</p>}
        </>
      )}
    </ConfirmDialog>
  )
}

interface TryTokensProps {
  readonly model: string
  readonly hasChatTemplate: boolean
}

/** A text as the model's tokens, as it stands or as a message in its chat template. */
function TryTokens({ model, hasChatTemplate }: TryTokensProps) {
  const [text, setText] = useState('Please reverse 2 7 1 1 7')
  const [as, setAs] = useState<'text' | 'chat'>(hasChatTemplate ? 'chat' : 'text')
  const asked = useSettled(text)
  const isChat = as === 'chat'
  const rendered = useAnswer(
    'models.renderChat',
    { model, messages: [{ role: 'user', content: asked }] },
    { enabled: isChat, keep: true },
  )
  const read = isChat ? rendered.data?.text : asked
  const { data: tokens, error } = useAnswer(
    'models.tokenize',
    { model, text: read ?? '' },
    { enabled: read !== undefined && read !== '', keep: true },
  )
  const failure = (isChat ? rendered.error : null) ?? error
  const shown = read === '' ? [] : tokens
  return (
    <Panel
      title="Try its tokens"
      actions={
        <Segmented
          label="Read as"
          value={as}
          options={[
            { value: 'chat', label: 'A user’s message', disabled: !hasChatTemplate },
            { value: 'text', label: 'Plain text' },
          ]}
          onChange={setAs}
        />
      }
    >
      <TextArea aria-label="Text to cut into tokens" rows={4} value={text} onChange={setText} />
      {failure !== null && <ErrorNote error={failure} className="mt-2" />}
      {failure === null && shown !== undefined && (
        <div className="mt-3">
          <TokenText
            label="The text"
            tokens={shown}
            className="max-h-60 overflow-auto"
            header={
              <span className="shrink-0">
                {plural(shown.length, 'token')}
                {shown.length > 0 &&
                  read !== undefined &&
                  ` · ${formatNumber([...read].length / shown.length, 2)} characters each`}
              </span>
            }
          />
        </div>
      )}
    </Panel>
  )
}
