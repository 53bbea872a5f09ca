import { ArrowRight, GitFork, X } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { RunConfig } from '#shared/runConfig.ts'
import { useCommand } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { goToTab, useKnownSettings } from './useRun.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { SearchInput, TextInput } from '#renderer/kit/inputs.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { searched, settingRows, valueText, type SettingRow } from './configTree.ts'
import { labelOf } from '#renderer/features/newRun/fieldWords.ts'
import type { ToolNames } from '#renderer/features/newRun/toolNames.ts'
import { lengthChange, parseValue, shownChanges, type Changes } from './forkChanges.ts'

export interface ForkWish {
  /** Of the checkpoint it begins from. */
  readonly step: number
  /** Proposed; a person may change them further. */
  readonly changes: Changes
}

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig
  readonly wish: ForkWish
  readonly onClose: () => void
}

/** What is typed, as text, so that half a number stays what it is. */
type Draft = Readonly<Record<string, string>>

const draftOf = (changes: Changes): Draft =>
  Object.fromEntries(Object.entries(changes).map(([path, value]) => [path, valueText(value)]))

/** A new run from a checkpoint with some settings changed; shows what will be different before anything starts. */
export function ForkDialog({ run, config, wish, onClose }: Props) {
  const known = useKnownSettings()
  const rows = useMemo(
    () => (known === null ? [] : settingRows(config, known, { opensLists: false }).filter(isForkable)),
    [config, known],
  )
  const longer = lengthChange({ steps: run.steps, stages: config.stages.length }, wish.step)
  const [draft, setDraft] = useState<Draft>(() => draftOf({ ...longer, ...wish.changes }))
  const fork = useCommand('runs.fork', {
    quiet: true,
    onDone({ runId }) {
      onClose()
      goToTab(runId, 'overview')
      toast({ title: `Forked from step ${String(wish.step)} of “${runTitle(run)}”` })
    },
  })
  const changes = Object.fromEntries(
    Object.entries(draft).map(([path, text]) => [path, parseValue(text, rowAt(rows, path))]),
  )
  const shown = shownChanges(rows, changes)
  const start = () =>
    void fork.run({ runId: run.id, step: wish.step, changes: pick(changes, shown), start: true })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      width={640}
      title={`Fork from step ${String(wish.step)}`}
      description={`A new run with the adapter, optimizer and data position of checkpoint ${String(wish.step)}. “${runTitle(run)}” stays as it is.`}
      actions={
        <>
          <Button
            variant="quiet"
            className="mr-auto"
            onClick={() =>
              navigate('/new-run', {
                fork: run.id,
                step: String(wish.step),
                changes: shown.length === 0 ? null : JSON.stringify(pick(changes, shown)),
              })
            }
          >
            Open in New run
          </Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="primary"
            icon={<GitFork size={14} aria-hidden />}
            disabled={fork.isRunning}
            onClick={start}
          >
            {shown.length === 0 ? 'Fork unchanged' : `Fork with ${plural(shown.length, 'change')}`}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <ChangedRows rows={rows} draft={draft} onDraft={setDraft} />
        {'steps' in longer && (
          <p className="text-sm text-muted">
            The run was {run.steps} steps long and this checkpoint is its end, so the fork gets as many again.
          </p>
        )}
        <AddSetting
          rows={rows}
          draft={draft}
          toolNames={known?.toolNames ?? {}}
          onAdd={(row) => setDraft({ ...draft, [row.path]: valueText(row.value) })}
        />
        {fork.error !== null && <ErrorNote error={fork.error} />}
      </div>
    </Dialog>
  )
}

/** A fork goes on with the adapter of its checkpoint. */
const isForkable = ({ path }: SettingRow): boolean => !path.startsWith('adapter.')

const valueOf = (rows: readonly SettingRow[], path: string): unknown =>
  rows.find((row) => row.path === path)?.value

const unknownRow = { value: undefined, options: null }
const rowAt = (rows: readonly SettingRow[], path: string) =>
  rows.find((row) => row.path === path) ?? unknownRow

const pick = (changes: Changes, shown: readonly { readonly path: string }[]): Record<string, unknown> =>
  Object.fromEntries(shown.map(({ path }) => [path, changes[path]]))

interface RowsProps {
  readonly rows: readonly SettingRow[]
  readonly draft: Draft
  readonly onDraft: (draft: Draft) => void
}

function ChangedRows({ rows, draft, onDraft }: RowsProps) {
  const paths = Object.keys(draft)
  if (paths.length === 0)
    return <p className="text-muted">Choose settings to change, or fork it unchanged.</p>
  return (
    <ul aria-label="Changed settings" className="rounded border border-line">
      {paths.map((path) => (
        <li
          key={path}
          className="grid grid-cols-[minmax(0,1fr)_minmax(0,7rem)_16px_minmax(0,9rem)_24px] items-center gap-2 border-line py-1.5 pr-1.5 pl-3 not-first:border-t"
        >
          <span className="truncate" title={path}>
            {labelOf(path)}
          </span>
          <span
            className="truncate text-right font-mono text-sm text-muted"
            title={valueText(valueOf(rows, path))}
          >
            {valueText(valueOf(rows, path))}
          </span>
          <ArrowRight size={13} aria-hidden className="text-faint" />
          <ValueInput
            row={rows.find((row) => row.path === path)}
            path={path}
            text={draft[path] ?? ''}
            onText={(text) => onDraft({ ...draft, [path]: text })}
          />
          <IconButton
            small
            label={`Leave ${labelOf(path)} as it is`}
            icon={<X size={13} aria-hidden />}
            onClick={() =>
              onDraft(Object.fromEntries(Object.entries(draft).filter(([other]) => other !== path)))
            }
          />
        </li>
      ))}
    </ul>
  )
}

interface ValueProps {
  readonly row: SettingRow | undefined
  readonly path: string
  readonly text: string
  readonly onText: (text: string) => void
}

function ValueInput({ row, path, text, onText }: ValueProps) {
  const label = `New value of ${labelOf(path)}`
  const options = row?.options ?? null
  if (options !== null) {
    return (
      <Select
        aria-label={label}
        small
        value={text}
        onChange={onText}
        options={[...new Set([...options, text])].map((value) => ({ value, label: value }))}
      />
    )
  }
  return <TextInput aria-label={label} small mono value={text} onChange={onText} />
}

interface AddProps {
  readonly rows: readonly SettingRow[]
  readonly draft: Draft
  readonly toolNames: ToolNames
  readonly onAdd: (row: SettingRow) => void
}

const first: readonly string[] = [
  'optimization.learningRate',
  'steps',
  'rollout.temperature',
  'rollout.groupSize',
  'rollout.maxNewTokens',
  'algorithm.settings.klCoefficient',
]

/** Every setting by its name or what it does; without a search those that are changed most. */
function AddSetting({ rows, draft, toolNames, onAdd }: AddProps) {
  const [text, setText] = useState('')
  const open = rows.filter(({ path }) => !(path in draft))
  const found =
    text.trim() === ''
      ? first.flatMap((path) => open.filter((row) => row.path === path))
      : searched(open, text, toolNames).slice(0, 40)
  return (
    <section className="rounded border border-line">
      <div className="border-b border-line p-2">
        <SearchInput
          autoFocus
          label="Search settings to change"
          value={text}
          onChange={setText}
          className="w-full"
        />
      </div>
      <ul className="max-h-52 overflow-auto p-1" aria-label="Settings to change">
        {found.map((row) => (
          <li key={row.path}>
            <button
              type="button"
              onClick={() => onAdd(row)}
              className="flex min-h-7 w-full items-baseline gap-3 rounded-sm px-2 py-1 text-left hover:bg-raised"
            >
              <span className="shrink-0" title={row.path}>
                {labelOf(row.path)}
              </span>
              <span className="min-w-0 grow truncate text-sm text-muted" title={row.description}>
                {row.description}
              </span>
              <span className="max-w-32 shrink-0 truncate font-mono text-sm text-muted">
                {valueText(row.value)}
              </span>
            </button>
          </li>
        ))}
        {found.length === 0 && <li className="px-2 py-1 text-muted">No setting has these words.</li>}
      </ul>
    </section>
  )
}
