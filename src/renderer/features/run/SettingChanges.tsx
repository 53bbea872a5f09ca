/** Parts of the dialogs that change settings of a run. */
import { Lock } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { isEqual, valueAt, type JsonObject } from '#shared/config/paths.ts'
import type { Problem } from '#shared/errors.ts'
import {
  searched,
  useRunSettings,
  unknownField,
  valueText,
  type RunSetting,
  type ToolNames,
} from '#renderer/client/runSettings.ts'
import { classes } from '#renderer/kit/classes.ts'
import { ErrorNote } from '#renderer/kit/states.tsx'
import { SearchInput } from '#renderer/kit/inputs.tsx'
import { SettingRow } from '#renderer/kit/SettingRow.tsx'
import { problemsAt, problemWords } from '#renderer/features/newRun/problems.ts'
import { Sentence } from '#renderer/kit/Sentence.tsx'

interface ChangedProps {
  readonly rows: readonly RunSetting[]
  readonly changes: JsonObject
  readonly empty: string
  readonly noteOf: (value: string) => string
  readonly problems?: readonly Problem[]
  readonly onChange: (changes: JsonObject) => void
}

/** Lists the chosen settings, each with its new and previous value. */
function ChangedSettings({ rows, changes, empty, noteOf, problems = [], onChange }: ChangedProps) {
  const keys = Object.keys(changes)
  if (keys.length === 0) return <p className="text-muted">{empty}</p>
  return (
    <div role="group" aria-label="Changed settings" className="grid grid-cols-2 gap-x-6 gap-y-2 pl-2.5">
      {keys.map((key) => {
        const row = rows.find(({ field }) => field.key === key)
        const { [key]: _, ...others } = changes
        const [problem] = problemsAt(problems, key)
        return (
          <SettingRow
            key={key}
            field={row?.field ?? unknownField(key)}
            value={changes[key]}
            base={row?.value}
            isChanged
            note={noteOf(valueText(row?.value))}
            problem={problem && <Sentence text={problemWords(problem)} />}
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
  /** Returns why a setting cannot be changed, or null. */
  readonly whyFixed?: (key: string) => string | null
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

/** Searches settings by name or explanation; lists the most frequently changed without a search. */
function AddSetting({ rows, changes, toolNames, whyFixed = () => null, onAdd }: AddProps) {
  const [text, setText] = useState('')
  const open = rows.filter(({ field }) => !(field.key in changes))
  const isFree = ({ field }: RunSetting) => whyFixed(field.key) === null
  const found =
    text.trim() === ''
      ? first.flatMap((key) => open.filter((row) => row.field.key === key && isFree(row)))
      : searched(open, text, toolNames)
          .toSorted((a, b) => Number(isFree(b)) - Number(isFree(a)))
          .slice(0, 40)
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
            <OpenSetting row={row} reason={whyFixed(row.field.key)} onAdd={onAdd} />
          </li>
        ))}
        {found.length === 0 && <li className="px-2 py-1 text-muted">No settings match.</li>}
      </ul>
    </section>
  )
}

interface OpenProps {
  readonly row: RunSetting
  /** Reason why it cannot be changed, or null. */
  readonly reason: string | null
  readonly onAdd: (row: RunSetting) => void
}

function OpenSetting({ row, reason, onAdd }: OpenProps) {
  const { field, value } = row
  const shape = 'flex min-h-7 w-full items-baseline gap-3 rounded-sm px-2 py-1 text-left'
  if (reason !== null) {
    return (
      <p className={classes(shape, 'text-muted')}>
        <Lock size={12} aria-hidden className="shrink-0 self-center" />
        <span className="shrink-0" title={field.key}>
          {field.label}
        </span>
        <span className="min-w-0 grow text-sm text-pretty">Stays: {reason}</span>
      </p>
    )
  }
  return (
    <button type="button" onClick={() => onAdd(row)} className={classes(shape, 'hover:bg-raised')}>
      <span className="shrink-0" title={field.key}>
        {field.label}
      </span>
      <span className="min-w-0 grow truncate text-sm text-muted" title={field.help}>
        {field.help}
      </span>
      <span className="max-w-32 shrink-0 truncate font-mono text-sm text-muted">{valueText(value)}</span>
    </button>
  )
}

/** Returns the changes that change something. */
export const effectiveOf = (changes: JsonObject, config: unknown): JsonObject =>
  Object.fromEntries(Object.entries(changes).filter(([key, value]) => !isEqual(value, valueAt(config, key))))

interface EditorProps extends ChangedProps, Partial<Pick<AddProps, 'whyFixed'>> {
  readonly error: Error | null
  /** Content between the changed settings and the search for others. */
  readonly children?: ReactNode
}

/** Changed settings, and others to be changed. */
export function SettingsEditor({ error, children, whyFixed, ...changed }: EditorProps) {
  const { rows, changes, onChange } = changed
  return (
    <>
      <ChangedSettings {...changed} />
      {children}
      <AddSetting
        {...{ rows, changes }}
        {...(whyFixed === undefined ? {} : { whyFixed })}
        toolNames={useRunSettings()?.toolNames ?? {}}
        onAdd={({ field, value }) => onChange({ ...changes, [field.key]: value })}
      />
      {error !== null && <ErrorNote error={error} />}
    </>
  )
}
