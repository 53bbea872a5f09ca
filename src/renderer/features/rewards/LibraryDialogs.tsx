import { useState } from 'react'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { useRuns } from '#renderer/client/runs.ts'
import { plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Segmented, SelectField } from '#renderer/kit/choices.tsx'
import { ConfirmDialog, Dialog } from '#renderer/kit/Dialog.tsx'
import { LazyCodeView } from '#renderer/editor/lazyEditor.tsx'
import { galleryKey, type Shelf } from '#renderer/parts/rewardLibrary.ts'
import type { GalleryEntry, Reward, RewardKind } from '#renderer/parts/rewardTypes.ts'
import { kinds } from './kinds.tsx'
import { copyOf, type Beginning } from './useRewards.ts'
import { Form, TextField } from '#renderer/kit/inputs.tsx'

interface NewDialogProps {
  readonly shelf: Shelf
  readonly gallery: readonly GalleryEntry[]
  readonly taken: readonly string[]
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly onCreate: (beginning: Beginning) => void
}

export function NewRewardDialog({ shelf, gallery, taken, isBusy, onClose, onCreate }: NewDialogProps) {
  const { kind } = shelf
  const [name, setName] = useState('')
  const [from, setFrom] = useState('')
  const copies = gallery.filter((entry) => entry.code !== null && entry.kind === kind)
  const chosen = copies.find((entry) => galleryKey(entry) === from)
  const create = () => {
    const first = (chosen && copyOf(chosen)) ?? shortExample(kind)
    onCreate({ ...first, kind, name: name.trim() })
  }
  return (
    <Dialog
      onClose={onClose}
      title={shelf.newWords}
      description={shelf.newHelp}
      action={{ label: 'Create', isDisabled: name.trim() === '' || isBusy, form: 'new-reward' }}
    >
      <Form id="new-reward" className="flex flex-col gap-3" onSubmit={() => name.trim() !== '' && create()}>
        <TextField
          label="Name"
          note={taken.includes(name.trim()) ? nameIsTaken : undefined}
          autoFocus
          value={name}
          onChange={setName}
          placeholder={shelf.exampleName}
        />
        <SelectField
          label="Begin with"
          note={chosen?.description}
          value={chosen === undefined ? '' : from}
          options={[
            { value: '', label: 'A short example' },
            ...copies.map((entry) => ({ value: galleryKey(entry), label: `Gallery: ${entry.title}` })),
          ]}
          onChange={setFrom}
        />
      </Form>
    </Dialog>
  )
}

const nameIsTaken = 'This name is already in use; the list will show both.'

const shortExample = (kind: RewardKind) =>
  ({ language: 'ts', code: startCode[kind], note: 'Beginning', tests: [] }) as const

interface KindChoiceProps {
  readonly offered: readonly RewardKind[]
  readonly value: RewardKind
  readonly onChange: (kind: RewardKind) => void
}

const KindChoice = ({ offered, value, onChange }: KindChoiceProps) => (
  <Segmented
    label="Kind"
    value={value}
    options={offered.map((kind) => ({ value: kind, label: kinds[kind].title }))}
    onChange={onChange}
  />
)

interface ArrivedDialogProps {
  readonly file: { readonly name: string; readonly code: string }
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly onCreate: (beginning: Beginning) => void
}

/** Shows dropped code before it is imported; it has not been run. */
export function ArrivedDialog({ file, isBusy, onClose, onCreate }: ArrivedDialogProps) {
  const [kind, setKind] = useState<RewardKind>(guessKind(file.code))
  const [name, setName] = useState(file.name.replace(/\.[cm]?[jt]s$/, ''))
  const language = /\.[cm]?js$/.test(file.name) ? 'js' : 'ts'
  const create = () =>
    onCreate({ kind, language, code: file.code, tests: [], name: name.trim(), note: `From ${file.name}` })
  return (
    <Dialog
      onClose={onClose}
      title={`Add ${file.name}`}
      description="Read it before you add it: it runs without files and network, but it decides what the model learns."
      width={720}
      action={{ label: 'Add to the library', isDisabled: name.trim() === '' || isBusy, run: create }}
    >
      <div className="flex flex-col gap-3">
        <div className="flex items-end gap-3">
          <TextField label="Name" className="grow" autoFocus value={name} onChange={setName} />
          <KindChoice
            offered={['reward', 'environment', 'loss', 'workflow']}
            value={kind}
            onChange={setKind}
          />
        </div>
        <div className="h-80 rounded border border-line">
          <LazyCodeView value={file.code} language={language} label={`Code of ${file.name}`} />
        </div>
      </div>
    </Dialog>
  )
}

export function RenameDialog({ reward, onClose }: { reward: Reward; onClose: () => void }) {
  const [name, setName] = useState(reward.name)
  const rename = useCommand('rewards.rename', { onDone: onClose })
  return (
    <Dialog
      onClose={onClose}
      title="Rename"
      width={400}
      action={{
        label: 'Rename',
        isDisabled: name.trim() === '' || rename.isRunning,
        form: 'rename-reward',
      }}
    >
      <Form id="rename-reward" onSubmit={() => void rename.run({ rewardId: reward.id, name: name.trim() })}>
        <TextField label="Name" autoFocus value={name} onChange={setName} />
      </Form>
    </Dialog>
  )
}

interface DeleteDialogProps {
  readonly reward: Reward
  readonly onClose: () => void
  readonly onDeleted: () => void
}

/** Asks for confirmation, naming the runs that used it, which have copies of their own. */
export function DeleteDialog({ reward, onClose, onDeleted }: DeleteDialogProps) {
  const { data: uses } = useAnswer('rewards.usedBy', { rewardId: reward.id })
  const { runs } = useRuns()
  const remove = useCommand('rewards.delete', { onDone: onDeleted })
  const ids = new Set(uses?.map(({ runId }) => runId))
  const users = runs.filter(({ id }) => ids.has(id))
  const shown = users.slice(0, 5)
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={`Delete “${reward.name}”`}
      action={`Delete ${reward.kind}`}
      isDisabled={uses === undefined || remove.isRunning}
      onConfirm={() => void remove.run({ rewardId: reward.id })}
    >
      <p>
        {plural(reward.versions, 'version')} and the test cases are deleted; this cannot be undone.{' '}
        {uses === undefined && 'Looking up which runs used it…'}
        {uses?.length === 0 && 'No run has used it.'}
      </p>
      {shown.length > 0 && (
        <>
          <p className="mt-2">
            {ids.size === 1 ? 'One run' : plural(ids.size, 'run')} used it. Each keeps the copy of the code it
            was trained with:
          </p>
          <ul className="mt-1 list-disc pl-5 text-text">
            {shown.map((run) => (
              <li key={run.id}>
                {runTitle(run)} <span className="text-xs text-faint">{run.id.slice(-4)}</span>
              </li>
            ))}
          </ul>
          {users.length > shown.length && (
            <p className="mt-1">and {plural(users.length - shown.length, 'more', 'more')}.</p>
          )}
        </>
      )}
    </ConfirmDialog>
  )
}

/* What stands in the editor when something new is begun. */

const reward = `// How good is a completion? Return a number (higher is better), or null if the reward does not apply.
export const settings = { column: 'answer' }

export default function score({ prompt, completion, row, settings, log }) {
  const expected = String(row[settings.column] ?? '').trim()
  if (expected === '') return null
  log.column('expected', expected) // shown beside the sample
  return completion.trim() === expected ? 1 : 0
}
`

const environment = `// A multi-turn environment. Everything to remember goes into \`state\`, which the next turn receives.
export default {
  reset({ row, random }) {
    const target = 1 + Math.floor(random() * 10)
    return { state: { target, turns: 0 }, observation: 'Guess a number from 1 to 10. Answer with the number only.' }
  },

  step({ state, action, log }) {
    const turns = state.turns + 1
    const isRight = Number(action.trim()) === state.target
    log.metric('turns', turns)
    if (isRight) return { state: { ...state, turns }, reward: 1, terminated: true }
    return { state: { ...state, turns }, observation: 'No. Guess again.', reward: 0, terminated: turns >= 5 }
  },
}
`

const loss = `// What the optimizer minimises, from values per token; the gradient is derived for you.
export default defineLoss({
  settings: { clip: { default: 0.2, minimum: 0, maximum: 1, description: 'How far the importance ratio may move from 1.' } },
  loss({ logp, oldLogp, advantages, mask, settings }) {
    const ratio = exp(logp - oldLogp)
    const clipped = clip(ratio, 1 - settings.clip, 1 + settings.clip)
    return -mean(min(ratio * advantages, clipped * advantages), mask)
  },
})
`

const workflow = `// One episode: ask the policy, judge what it says, and return what is learned from.
export default defineWorkflow({
  settings: { question: 'Are you sure? Answer again.' },
  async episode({ prompt, engine, tools, settings, log }) {
    const first = await engine.generate({ ids: prompt.ids })
    const next = await tools.reply(first.allIds, settings.question)
    const second = await engine.generate({ ids: next.ids })
    const [before, after] = await tools.rewards([{ completion: first.text }, { completion: second.text }])
    log.column('first answer', first.text) // shown beside the sample
    return {
      ids: second.allIds,
      // What the policy chose: its two turns.
      actions: [[prompt.ids.length, first.allIds.length], [next.ids.length, second.allIds.length]],
      turnRewards: [before.total, after.total],
    }
  },
})
`

export const startCode: Readonly<Record<RewardKind, string>> = { reward, environment, loss, workflow }

/** Guesses the kind from the code alone; the sandbox decides when it loads it. */
export const guessKind = (code: string): RewardKind => {
  if (/\bdefineLoss\s*\(/.test(code)) return 'loss'
  if (/\bdefineWorkflow\s*\(/.test(code)) return 'workflow'
  return /\breset\s*[(:]/.test(code) && /\bstep\s*[(:]/.test(code) ? 'environment' : 'reward'
}
