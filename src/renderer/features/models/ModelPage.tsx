import { Copy, MessagesSquare, Play, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { keepers } from '#shared/api/models.ts'
import { useArrivals } from '#renderer/client/adding.ts'
import { useAnswer, useCommand, useTask, type Answer } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { Actions, type Action } from '#renderer/kit/actions.tsx'
import { isInTheWay, RunsInTheWay } from '#renderer/parts/RunsInTheWay.tsx'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { MoreMenu, revealItems } from '#renderer/kit/Menu.tsx'
import { Panel, KeyValue } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { type ListedModel } from '#renderer/client/modelChoice.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { formatBytes, formatNumber, plural, formatPercent, lastPart } from '#renderer/client/format.ts'
import { ConfirmDialog } from '#renderer/kit/Dialog.tsx'
import { useSettled } from '#renderer/client/settled.ts'
import { Segmented } from '#renderer/kit/choices.tsx'
import { TextArea } from '#renderer/kit/inputs.tsx'
import { TokenText } from '#renderer/kit/TokenText.tsx'
import { ModelFacts } from './ModelFacts.tsx'
import { TrainedHere } from './TrainedHere.tsx'
import type { PrecisionEffect } from '#shared/precision.ts'

const Uses = ({ name, info }: { name: string; info: Answer<'models.info'> | undefined }) => (
  <Actions
    actions={[
      info?.hasChatTemplate === true && {
        label: 'Chat',
        icon: MessagesSquare,
        iconSize: 13,
        run: () => navigate('/playground/chat', { a: name }),
      },
      {
        label: 'Train this',
        icon: Play,
        iconSize: 13,
        run: () => navigate('/new-run', { model: name }),
      },
    ]}
  />
)

const Panels = ({ name, info }: { readonly name: string; readonly info: Answer<'models.info'> }) => (
  <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 min-[1200px]:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
    <Panel title="Card">
      <ModelFacts isListed info={info} />
    </Panel>
    <div className="flex min-w-0 flex-col gap-4">
      <TryTokens model={name} hasChatTemplate={info.hasChatTemplate} />
      <RoundingPanel key={name} model={name} />
    </div>
    <div className="min-w-0 min-[1200px]:col-span-2">
      <TrainedHere directory={info.directory} />
    </div>
  </div>
)

/** One model: its properties, its tokenization of a text, and adapters trained on it. */
export function ModelPage({ model }: { model: ListedModel }) {
  const isUsable = !('problem' in model)
  const { data: info, error } = useAnswer('models.info', { model: model.name }, { enabled: isUsable })
  const [isDeleting, setDeleting] = useState(false)
  // The included model is not a file of the user.
  const canDelete = model.origin === null && (!isUsable || info?.isBuiltIn === false)
  const ownAction: Action =
    model.origin === null
      ? {
          label: 'Delete',
          icon: Trash2,
          isDangerous: true,
          isDisabled: !canDelete,
          run: () => setDeleting(true),
        }
      : { label: 'Copy into Turnwise’s folder', icon: Copy, isDisabled: !isUsable, run: () => lookAt(model) }
  return (
    <div className="min-h-0 grow overflow-auto px-6 py-4">
      <header className="mb-4 flex min-h-7 flex-wrap items-center gap-2">
        <h2 className="max-w-full truncate text-xl font-semibold">{model.name}</h2>
        {info?.isBuiltIn === true && <Badge tone="accent">Built in</Badge>}
        {model.origin !== null && <Badge>{keepers[model.origin]}</Badge>}
        <span className="ml-auto flex items-center gap-2">
          <MoreMenu groups={[revealItems(model.directory), [ownAction]]} />
          {isUsable && <Uses name={model.name} info={info} />}
        </span>
      </header>
      {'problem' in model && (
        <ErrorNote
          error={{
            message: model.problem,
            hint: model.origin === null ? 'Delete it, or put the missing files into its folder.' : null,
          }}
        />
      )}
      {error !== null && <ErrorNote error={error} />}
      {isUsable && info === undefined && error === null && <Loading />}
      {info !== undefined && <Panels name={model.name} info={info} />}
      {isDeleting && <DeleteModel model={model} onClose={() => setDeleting(false)} />}
    </div>
  )
}

/** Opens a model of another program as one about to be imported. */
function lookAt({ name, directory }: ListedModel): void {
  useArrivals.setState({ model: { name: lastPart(name), kind: 'model', source: { path: directory } } })
  navigate('/models')
}

const maxShown = 8

/** Asks for confirmation, naming the runs that need the model. */
function DeleteModel({ model, onClose }: { model: ListedModel; onClose: () => void }) {
  const { name, directory } = model
  const { runs: all, isLoaded } = useRuns()
  const runs = all.filter((run) => run.model === directory)
  const unfinished = runs.filter(isInTheWay)
  const shown = unfinished.length > 0 ? unfinished.length : runs.length
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
      {runs.length === 0 ? (
        <p className="mt-2">No run needs it.</p>
      ) : (
        <RunsInTheWay
          runs={runs}
          need="need it"
          after="These finished runs were trained on it. Their adapters stay, but cannot be used without it:"
        />
      )}
      {shown > maxShown && <p className="mt-1">and {shown - maxShown} more.</p>}
    </ConfirmDialog>
  )
}

/** Tokens of a text, and what the model reads: the text itself, or the chat with it. */
function useTokensOf(model: string, asked: string, isChat: boolean) {
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
  return { read, shown: read === '' ? [] : tokens, failure: (isChat ? rendered.error : null) ?? error }
}

interface TryTokensProps {
  readonly model: string
  readonly hasChatTemplate: boolean
}

/** Tokenizes a text, plain or as a message in the model's chat template. */
function TryTokens({ model, hasChatTemplate }: TryTokensProps) {
  const [text, setText] = useState('Please reverse 2 7 1 1 7')
  const [as, setAs] = useState<'text' | 'chat'>(hasChatTemplate ? 'chat' : 'text')
  const { read, shown, failure } = useTokensOf(model, useSettled(text), as === 'chat')
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
      <TextArea aria-label="Text to tokenise" rows={4} value={text} onChange={setText} />
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

/** Effect of the settings base.precision int8 and int4 on this model: measured on request, then stored by the host. */
function RoundingPanel({ model }: { model: string }) {
  const { start, cancel, items, state, error } = useTask('models.precision')
  const isRunning = state === 'running'
  return (
    <Panel
      title="Quantise base weights"
      actions={
        isRunning ? (
          <Button small onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <Button small onClick={() => start({ model, precisions: ['int8', 'int4'] })}>
            Measure
          </Button>
        )
      }
    >
      <p className="mb-3 text-muted">
        A run can hold the frozen matrices in 8 or 4 bits. This measures what that does to the
        log-probabilities of a few texts, in nats per token.
      </p>
      {error !== null && <ErrorNote error={error} />}
      {isRunning && items.length === 0 && <p className="text-faint">Rounding and scoring</p>}
      <div className="grid gap-4 min-[640px]:grid-cols-2">
        {items.map((effect) => (
          <div key={effect.precision}>
            <h3 className="mb-1 font-medium">{effect.precision}</h3>
            <KeyValue entries={effectFacts(effect)} />
          </div>
        ))}
      </div>
    </Panel>
  )
}

export const effectFacts = (effect: PrecisionEffect): readonly (readonly [string, string])[] => [
  [
    'Matrices',
    `${formatBytes(effect.roundedBytes)} (${formatPercent(effect.roundedBytes / effect.exactBytes)} of f32)`,
  ],
  ['Mean difference', formatNumber(effect.mean, 2)],
  ['Largest', formatNumber(effect.largest, 2)],
  ['Texts less likely by', formatNumber(effect.loss, 2)],
  ['KL divergence', formatNumber(effect.divergence, 2)],
  ['Sampler and learner', formatNumber(effect.samplerGap, 2)],
]
