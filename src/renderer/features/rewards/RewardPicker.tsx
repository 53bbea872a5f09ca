import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { judgeFunction } from '#shared/config/judge.ts'
import { useAddChoice, useChoiceSettings } from './useRewardChoices.ts'
import { useRewardLibrary } from './useRewards.ts'
import { link } from '#renderer/client/route.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { NumberInput, TextInput } from '#renderer/kit/inputs.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { JudgeFields } from './JudgeFields.tsx'
import { galleryKey, offeredRewards, versionNumber } from '#renderer/parts/rewardLibrary.ts'
import {
  chartName,
  choiceName,
  choiceOfVersion,
  isPython,
  moved,
  sourceOfChoice,
  type ChoiceSource,
  type RewardChoice,
} from '#renderer/parts/rewardChoice.ts'
import { PythonBadge, PythonFile, PythonLine } from './PythonFile.tsx'
import { SettingsFields } from './SettingsFields.tsx'
import type { GalleryEntry, SettingValues } from '#renderer/parts/rewardTypes.ts'

interface RewardPickerProps {
  /** `config.rewards`. */
  readonly value: readonly RewardChoice[]
  readonly onChange: (value: readonly RewardChoice[]) => void
  readonly disabled?: boolean
  /** Problems by index of the entry. */
  readonly problems?: Readonly<Record<number, string>>
  /** Suggestions for settings that name a column. */
  readonly columns?: readonly string[]
  /** `config.python.interpreter`. */
  readonly interpreter?: string | null
  /** False where Python is offered elsewhere. */
  readonly hasPython?: boolean
}

/** Edits the rewards of a run: functions with weights, in order. */
export function RewardPicker({
  value,
  onChange,
  disabled = false,
  problems = {},
  columns = [],
  interpreter = null,
  hasPython = true,
}: RewardPickerProps) {
  const replace = (index: number, choice: RewardChoice | null) =>
    onChange(choice === null ? value.toSpliced(index, 1) : value.with(index, choice))
  return (
    <div className="flex flex-col gap-2">
      {value.length > 0 && (
        <ol className="flex flex-col rounded border border-line" aria-label="Rewards">
          {value.map((choice, i) => (
            <ChoiceItem
              // Entries have no identity besides their position and function.
              key={`${String(i)} ${choice.function}`}
              choice={choice}
              index={i}
              count={value.length}
              problem={problems[i] ?? null}
              columns={columns}
              interpreter={interpreter}
              disabled={disabled}
              onChange={(next) => replace(i, next)}
              onMove={(by) => onChange(moved(value, i, by))}
            />
          ))}
        </ol>
      )}
      <AddMenu
        {...{ disabled, hasPython }}
        taken={value.map(choiceName)}
        onAdd={(choice) => onChange([...value, choice])}
      />
    </div>
  )
}

interface AddMenuProps {
  readonly taken: readonly string[]
  readonly disabled: boolean
  readonly hasPython: boolean
  readonly onAdd: (choice: RewardChoice) => void
}

/** Lists the library, the gallery (which is copied when chosen) and the built-in functions. */
function AddMenu({ taken, disabled, hasPython, onAdd }: AddMenuProps) {
  const { rewards, gallery } = useRewardLibrary()
  const { addOwn, addCopy } = useAddChoice()
  const named = (name: string, id: string | null) => {
    if (id !== null) onAdd({ function: id, weight: 1, name: chartName(name, taken) })
  }
  const own = rewards.filter(({ kind, versions }) => kind === 'reward' && versions > 0)
  const { builtIn, copies, ofSample } = offeredRewards(gallery)
  const item = ({ id, title, description }: GalleryEntry) => ({
    label: title,
    about: description,
    run: () => onAdd({ function: id, weight: 1, name: chartName(id, taken) }),
  })
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-3">
      <Menu
        align="start"
        groups={[
          own.map(({ id, name }) => ({
            label: name,
            about: 'Written here',
            run: () => void addOwn(id).then((file) => named(name, file)),
          })),
          builtIn.map(item),
          copies.map((entry) => ({
            label: `${entry.title} (editable copy)`,
            about: entry.description,
            run: () => void addCopy(entry).then((file) => named(entry.title, file)),
          })),
          ofSample.map(item),
        ]}
      >
        <Button icon={Plus} disabled={disabled}>
          Add reward
        </Button>
      </Menu>
      <a className="text-sm whitespace-nowrap text-accent-ink underline" href={link('/rewards')}>
        Write one
      </a>
      {hasPython && <PythonReward {...{ taken, disabled, onAdd }} />}
    </span>
  )
}

/** Adds a reward of a Python file. */
export const PythonReward = ({ taken, disabled, onAdd }: Omit<AddMenuProps, 'hasPython'>) => (
  <PythonFile
    what="reward"
    example="/path/to/rewards.py#name"
    disabled={disabled}
    onChoose={(id) =>
      onAdd({ function: id, weight: 1, name: chartName(choiceName({ function: id }), taken) })
    }
  />
)

interface ChoiceItemProps {
  readonly choice: RewardChoice
  readonly index: number
  readonly count: number
  readonly problem: string | null
  readonly columns: readonly string[]
  readonly interpreter: string | null
  readonly disabled: boolean
  readonly onChange: (choice: RewardChoice | null) => void
  readonly onMove: (by: -1 | 1) => void
}

interface PlaceButtonsProps extends Pick<ChoiceItemProps, 'index' | 'count' | 'disabled' | 'onMove'> {
  readonly name: string
  readonly onRemove: () => void
}

const PlaceButtons = ({ name, index, count, disabled, onMove, onRemove }: PlaceButtonsProps) => (
  <>
    <IconButton
      small
      label={`Move ${name} up`}
      icon={ArrowUp}
      disabled={disabled || index === 0}
      onClick={() => onMove(-1)}
    />
    <IconButton
      small
      label={`Move ${name} down`}
      icon={ArrowDown}
      disabled={disabled || index === count - 1}
      onClick={() => onMove(1)}
    />
    <IconButton small label={`Remove ${name}`} icon={Trash2} disabled={disabled} onClick={onRemove} />
  </>
)

function ChoiceItem(props: ChoiceItemProps) {
  const { choice, index, count, problem, columns, interpreter, disabled, onChange, onMove } = props
  const { rewards, gallery } = useRewardLibrary()
  const source = sourceOfChoice(choice.function, rewards, gallery)
  const name = choiceName(choice)
  return (
    <li className="flex flex-col gap-2 border-b border-line p-2 last:border-b-0">
      <div className="flex flex-wrap items-center gap-2">
        <NameField choice={choice} disabled={disabled} onChange={onChange} />
        <SourceLine source={source} choice={choice} disabled={disabled} onChange={onChange} />
        <span className="ml-auto flex items-center gap-1 text-sm text-muted">
          Weight
          <span className="w-16">
            <NumberInput
              small
              aria-label={`Weight of ${name}`}
              disabled={disabled}
              value={choice.weight ?? 1}
              onChange={(weight) => onChange({ ...choice, weight: weight ?? 1 })}
            />
          </span>
          <PlaceButtons {...{ name, index, count, disabled, onMove }} onRemove={() => onChange(null)} />
        </span>
      </div>
      <ChoiceSettings
        source={source}
        values={choice.settings ?? {}}
        columns={columns}
        onChange={(settings) => onChange(withSettings(choice, settings))}
      />
      {isPython(choice.function) && <PythonLine id={choice.function} interpreter={interpreter} />}
      {problem !== null && <p className="text-sm text-bad">{problem}</p>}
    </li>
  )
}

function withSettings(choice: RewardChoice, settings: SettingValues): RewardChoice {
  const { settings: _, ...rest } = choice
  return Object.keys(settings).length === 0 ? rest : { ...rest, settings }
}

type PartProps = Pick<ChoiceItemProps, 'choice' | 'disabled' | 'onChange'>

/** Name on charts; applied when the field is left, so that two may be equal for a moment. */
function NameField({ choice, disabled, onChange }: PartProps) {
  const [draft, setDraft] = useState<string | null>(null)
  const name = choiceName(choice)
  const keep = () => {
    if (draft !== null && draft.trim() !== '' && !draft.includes('/'))
      onChange({ ...choice, name: draft.trim() })
    setDraft(null)
  }
  return (
    <span className="w-44">
      <TextInput
        small
        aria-label={`Name of reward ${name} on charts`}
        disabled={disabled}
        value={draft ?? name}
        onChange={setDraft}
        onBlur={keep}
        onKeyDown={(event) => event.key === 'Enter' && keep()}
      />
    </span>
  )
}

function SourceLine({ source, choice, disabled, onChange }: PartProps & { readonly source: ChoiceSource }) {
  if (source.kind === 'builtin') {
    return (
      <span className="flex min-w-0 items-center gap-2 text-sm text-muted" title={source.entry.description}>
        <Badge>Built-in</Badge>
        <a className="truncate hover:underline" href={link(`/rewards/${galleryKey(source.entry)}`)}>
          {source.entry.title}
        </a>
      </span>
    )
  }
  if (source.kind === 'file') {
    return (
      <span className="flex min-w-0 items-center gap-2">
        {isPython(source.path) && <PythonBadge />}
        <span className="min-w-0 truncate font-mono text-xs text-muted" title={source.path}>
          {source.path}
        </span>
      </span>
    )
  }
  return <VersionField source={source} choice={choice} disabled={disabled} onChange={onChange} />
}

/** Chooses the version of custom code, and one of its functions. */
export function VersionField(props: PartProps & { readonly source: Extract<ChoiceSource, { kind: 'own' }> }) {
  const { source, choice, disabled, onChange } = props
  const { reward, hash, part } = source
  const { versions, functions } = useChoiceSettings(source)
  const set = (next: { readonly hash?: string; readonly part?: string | null }) => {
    const version = versions.find((each) => each.hash === (next.hash ?? hash))
    if (version !== undefined)
      onChange({ ...choice, function: choiceOfVersion(version, next.part === undefined ? part : next.part) })
  }
  return (
    <span className="flex min-w-0 items-center gap-2 text-sm">
      <a className="min-w-0 truncate text-accent-ink hover:underline" href={link(`/rewards/${reward.id}`)}>
        {reward.name}
      </a>
      <Select
        small
        aria-label={`Version of ${reward.name}`}
        disabled={disabled}
        value={hash}
        options={versions.map((version, i) => ({
          value: version.hash,
          label: `version ${String(versionNumber(versions, version.hash))}${i === 0 ? ' (newest)' : ''}`,
        }))}
        onChange={(next) => set({ hash: next })}
      />
      {functions.length > 1 && (
        <Select
          small
          aria-label={`Function of ${reward.name}`}
          disabled={disabled}
          value={part ?? ''}
          options={[
            { value: '', label: functions.includes('default') ? 'default' : 'all functions' },
            ...functions.filter((each) => each !== 'default'),
          ]}
          onChange={(next) => set({ part: next === '' ? null : next })}
        />
      )}
    </span>
  )
}

interface ChoiceSettingsProps {
  readonly source: ChoiceSource
  readonly values: SettingValues
  readonly columns?: readonly string[]
  readonly onChange: (values: SettingValues) => void
}

/** Settings of the chosen entry, queried from the code itself if it is code. */
export function ChoiceSettings({ source, values, columns = [], onChange }: ChoiceSettingsProps) {
  const { known } = useChoiceSettings(source)
  if (source.kind === 'builtin' && source.entry.id === judgeFunction)
    return <JudgeFields values={values} onChange={onChange} />
  if (Object.keys(known).length === 0) return null
  return <SettingsFields known={known} values={values} onChange={onChange} columns={columns} />
}
