import { GitFork } from 'lucide-react'
import { useMemo, useState } from 'react'
import { isEqual, valueAt, type JsonObject } from '#shared/config/paths.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useCommand } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { goToTab } from './useRun.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { toast } from '#renderer/client/toasts.ts'
import { plural } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'
import {
  searched,
  settingRows,
  unknownField,
  useRunSettings,
  valueText,
  type RunSetting,
  type ToolNames,
} from '#renderer/client/runSettings.ts'
import { SettingRow } from '#renderer/kit/SettingRow.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Dialog } from '#renderer/kit/Dialog.tsx'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { lengthChange } from './forkChanges.ts'

export interface ForkProposal {
  /** Of the checkpoint it begins from. */
  readonly step: number
  /** Proposed; a person may change them further. */
  readonly changes: JsonObject
}

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig
  readonly proposal: ForkProposal
  readonly onClose: () => void
}

/** A new run from a checkpoint with some settings changed; shows what will be different before anything starts. */
export function ForkDialog({ run, config, proposal, onClose }: Props) {
  const known = useRunSettings()
  const rows = useMemo(
    () =>
      settingRows(config, known?.algorithms ?? [], { opensLists: false }).filter(
        ({ field }) => !field.key.startsWith('adapter.'),
      ),
    [config, known],
  )
  const longer = lengthChange({ steps: run.steps, stages: config.stages.length }, proposal.step)
  const [changes, setChanges] = useState<JsonObject>(() => ({ ...longer, ...proposal.changes }))
  const fork = useCommand('runs.fork', {
    quiet: true,
    onDone({ runId }) {
      onClose()
      goToTab(runId, 'overview')
      toast({ title: `Forked from step ${String(proposal.step)} of “${runTitle(run)}”` })
    },
  })
  const effective = Object.fromEntries(
    Object.entries(changes).filter(([key, value]) => !isEqual(value, valueAt(config, key))),
  )
  const count = Object.keys(effective).length
  const start = () => void fork.run({ runId: run.id, step: proposal.step, changes: effective, start: true })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      width={640}
      title={`Fork from step ${String(proposal.step)}`}
      description={`A new run with the adapter, optimizer and data position of checkpoint ${String(proposal.step)}. “${runTitle(run)}” stays as it is.`}
      actions={
        <>
          <Button
            variant="quiet"
            className="mr-auto"
            onClick={() =>
              navigate('/new-run', {
                fork: run.id,
                step: String(proposal.step),
                changes: count === 0 ? null : JSON.stringify(effective),
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
            {count === 0 ? 'Fork unchanged' : `Fork with ${plural(count, 'change')}`}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <ChangedSettings rows={rows} changes={changes} onChange={setChanges} />
        {'steps' in longer && (
          <p className="text-sm text-muted">
            The run was {run.steps} steps long and this is its last checkpoint, so the fork gets as many
            again.
          </p>
        )}
        <AddSetting
          rows={rows}
          changes={changes}
          toolNames={known?.toolNames ?? {}}
          onAdd={({ field, value }) => setChanges({ ...changes, [field.key]: value })}
        />
        {fork.error !== null && <ErrorNote error={fork.error} />}
      </div>
    </Dialog>
  )
}

interface ChangedProps {
  /** Of the parent. A fork goes on with the adapter of its checkpoint, whose settings are not among them. */
  readonly rows: readonly RunSetting[]
  readonly changes: JsonObject
  readonly onChange: (changes: JsonObject) => void
}

function ChangedSettings({ rows, changes, onChange }: ChangedProps) {
  const keys = Object.keys(changes)
  if (keys.length === 0) return <p className="text-muted">Choose settings to change, or fork it unchanged.</p>
  return (
    <div role="group" aria-label="Changed settings" className="grid grid-cols-2 gap-x-6 gap-y-2 pl-2.5">
      {keys.map((key) => {
        const row = rows.find(({ field }) => field.key === key)
        const { [key]: _, ...others } = changes
        return (
          <SettingRow
            key={key}
            field={row?.field ?? unknownField(key)}
            value={changes[key]}
            base={row?.value}
            isChanged
            note={`In the parent: ${valueText(row?.value)}`}
            onChange={(value) => onChange({ ...changes, [key]: value ?? null })}
            onReset={() => onChange(others)}
          />
        )
      })}
    </div>
  )
}

interface AddProps {
  readonly rows: readonly RunSetting[]
  readonly changes: JsonObject
  readonly toolNames: ToolNames
  readonly onAdd: (row: RunSetting) => void
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
function AddSetting({ rows, changes, toolNames, onAdd }: AddProps) {
  const [text, setText] = useState('')
  const open = rows.filter(({ field }) => !(field.key in changes))
  const found =
    text.trim() === ''
      ? first.flatMap((key) => open.filter(({ field }) => field.key === key))
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
          <li key={row.field.key}>
            <button
              type="button"
              onClick={() => onAdd(row)}
              className="flex min-h-7 w-full items-baseline gap-3 rounded-sm px-2 py-1 text-left hover:bg-raised"
            >
              <span className="shrink-0" title={row.field.key}>
                {row.field.label}
              </span>
              <span className="min-w-0 grow truncate text-sm text-muted" title={row.field.help}>
                {row.field.help}
              </span>
              <span className="max-w-32 shrink-0 truncate font-mono text-sm text-muted">
                {valueText(row.value)}
              </span>
            </button>
          </li>
        ))}
        {found.length === 0 && <li className="px-2 py-1 text-muted">No settings match.</li>}
      </ul>
    </section>
  )
}
