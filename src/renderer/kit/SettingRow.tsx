import { type ReactNode, useState } from 'react'
import { RotateCcw } from 'lucide-react'
import { IconButton, Button } from './Button.tsx'
import { Field, type FieldIds } from './Field.tsx'
import { classes } from './classes.ts'
import { rangeWords, type SettingField, type SectionChoice, valueWords } from '#shared/config/fields.ts'
import { toolNameWords, useRunSettings } from '#renderer/client/runSettings.ts'
import { Checkbox, Segmented, Select, Switch } from './choices.tsx'
import { NumberInput, TextArea, TextInput } from './inputs.tsx'
import { isObject } from '#shared/config/paths.ts'
import { Texts, Variables } from './lists.tsx'
import { Sentence } from './Sentence.tsx'

export interface SettingRowProps {
  readonly field: SettingField
  readonly value: unknown
  readonly base: unknown
  readonly isChanged: boolean
  /** Undefined resets to the default. */
  readonly onChange: (value: unknown) => void
  readonly onReset: () => void
  readonly problem?: ReactNode
  readonly note?: string | undefined
  readonly disabled?: boolean
  /** Overrides the setting's own name. */
  readonly label?: string
  readonly action?: ReactNode
}

/** Longest text that a field of the narrowest column shows whole, in characters. */
const fitsField = 22

/** Says what an empty field means: in the field, or below it where the field would cut it. */
function emptyWords({ empty, control: { kind } }: SettingField) {
  const isShown = empty.length <= fitsField || (kind !== 'number' && kind !== 'text')
  return isShown ? { placeholder: empty } : { note: <Sentence text={`Empty: ${empty}.`} /> }
}

/** Shows a setting with its explanation; a changed one is marked and can be reset on its own. */
export function SettingRow(props: SettingRowProps) {
  const { field, value, base, isChanged, onChange, onReset, problem, note, disabled = false } = props
  const { toolNames = {} } = useRunSettings() ?? {}
  const label = props.label ?? field.label
  const reset = isChanged && !disabled && (
    <IconButton
      small
      label={`Reset ${label} to ${valueWords(base)}`}
      icon={RotateCcw}
      iconSize={12}
      onClick={onReset}
    />
  )
  return (
    <Field
      label={label}
      className={classes(
        'relative',
        field.control.kind === 'variables' && 'col-span-full max-w-110',
        isChanged &&
          "before:absolute before:inset-y-1 before:-left-2.5 before:w-0.5 before:rounded-full before:bg-accent before:content-['']",
      )}
      help={
        <>
          {field.help} {rangeWords(field.control)}
          <span className="mt-1 block text-xs text-faint">
            <code className="font-mono">{field.key}</code> · by default {valueWords(field.default)}
          </span>
          <span className="block text-xs break-words text-faint">{toolNameWords(toolNames[field.key])}</span>
        </>
      }
      error={problem}
      note={note ?? emptyWords(field).note}
      aside={
        <>
          {isChanged && <span className="sr-only">Changed</span>}
          {props.action}
          {reset}
        </>
      }
    >
      {(ids) => (
        <SettingControl field={field} value={value} onChange={onChange} ids={ids} disabled={disabled} />
      )}
    </Field>
  )
}

interface SettingControlProps extends Pick<SettingRowProps, 'field' | 'value' | 'onChange' | 'disabled'> {
  readonly ids: FieldIds
}

/** Renders the control that fits the values of a setting. */
export function SettingControl(props: SettingControlProps) {
  const { field, value, onChange, ids, disabled = false } = props
  const { control, isNullable, empty, label } = field
  const none = isNullable ? null : undefined
  const common = { ...ids, disabled }
  switch (control.kind) {
    case 'number':
      return (
        <NumberInput
          {...common}
          value={typeof value === 'number' ? value : null}
          placeholder={emptyWords(field).placeholder}
          onChange={(next) => onChange(next ?? none)}
        />
      )
    case 'flag':
      return (
        <Switch
          id={ids.id}
          aria-label={label}
          disabled={disabled}
          checked={value === true}
          onChange={onChange}
        />
      )
    case 'choice':
      return (
        <Select
          {...common}
          value={typeof value === 'string' ? value : ''}
          options={isNullable ? [{ value: '', label: empty }, ...control.options] : control.options}
          onChange={(next) => onChange(next === '' ? none : next)}
        />
      )
    case 'choices':
      return <Choices {...props} options={control.options} all={null} />
    case 'all-or-choices':
      return <Choices {...props} options={control.options} all={control.all} />
    case 'texts':
      return <Texts label={label} value={value} onChange={onChange} disabled={disabled} />
    case 'number-or-pair':
      return <NumberOrPair {...props} />
    case 'section':
      return <Presence {...props} by={control.by} />
    case 'variables':
      return <Variables label={label} value={value} onChange={onChange} disabled={disabled} />
    case 'json':
      return <JsonText {...props} />
    case 'text':
      return (
        <TextInput
          {...common}
          mono
          value={typeof value === 'string' ? value : ''}
          placeholder={emptyWords(field).placeholder}
          onChange={(next) => onChange(next === '' ? none : next)}
        />
      )
  }
}

interface PresenceProps extends SettingControlProps {
  readonly by: SectionChoice | null
}

const absent = 'off'

/** Switches a section on or off; if it contains a required choice, that choice switches it on. */
function Presence({ field, value, onChange, ids, by, disabled = false }: PresenceProps) {
  const section = isObject(value) ? value : null
  if (by === null) {
    return (
      <Switch
        id={ids.id}
        aria-label={field.label}
        disabled={disabled}
        checked={section !== null}
        onChange={(isOn) => onChange(isOn ? {} : null)}
      />
    )
  }
  const { name, options } = by
  return (
    <div id={ids.id}>
      <Segmented
        label={field.label}
        value={section === null ? absent : String(section[name])}
        options={[
          { value: absent, label: 'Off', disabled },
          ...options.map((option) => ({ ...option, disabled })),
        ]}
        onChange={(next) => onChange(next === absent ? null : { ...section, [name]: next })}
      />
    </div>
  )
}

interface ChoicesProps extends SettingControlProps {
  readonly options: readonly string[]
  /** Word for “all of them”. */
  readonly all: string | null
}

function Choices({ value, onChange, options, all, disabled = false, ids }: ChoicesProps) {
  const isAll = all !== null && value === all
  const chosen = isAll ? options : Array.isArray(value) ? value : []
  const toggle = (option: string, isOn: boolean) => {
    const next = options.filter((each) => (each === option ? isOn : chosen.includes(each)))
    onChange(all !== null && next.length === options.length ? all : next)
  }
  return (
    <div
      id={ids.id}
      role="group"
      aria-describedby={ids['aria-describedby']}
      className="flex flex-wrap gap-x-3"
    >
      {options.map((option) => (
        <Checkbox
          key={option}
          label={option}
          disabled={disabled}
          checked={chosen.includes(option)}
          onChange={(isOn) => toggle(option, isOn)}
        />
      ))}
    </div>
  )
}

function NumberOrPair({ value, onChange, field, ids, disabled = false }: SettingControlProps) {
  const pair = Array.isArray(value) ? value.map(Number) : null
  const single = typeof value === 'number' ? value : 0
  if (pair === null) {
    return (
      <div className="flex gap-1">
        <NumberInput
          {...ids}
          disabled={disabled}
          value={single}
          onChange={(next) => onChange(next ?? undefined)}
        />
        <Button disabled={disabled} onClick={() => onChange([Math.max(0, 1 - single), 1 + single])}>
          Two bounds
        </Button>
      </div>
    )
  }
  const [low = 0, high = 0] = pair
  return (
    <div className="flex gap-1">
      <NumberInput
        {...ids}
        aria-label={`${field.label}: low`}
        disabled={disabled}
        value={low}
        onChange={(next) => next !== null && onChange([next, high])}
      />
      <NumberInput
        aria-label={`${field.label}: high`}
        disabled={disabled}
        value={high}
        onChange={(next) => next !== null && onChange([low, next])}
      />
      <Button disabled={disabled} onClick={() => onChange(undefined)}>
        One
      </Button>
    </div>
  )
}

function JsonText({ value, onChange, ids, disabled = false }: SettingControlProps) {
  const [draft, setDraft] = useState<string | null>(null)
  const take = () => {
    if (draft === null) return
    try {
      onChange(draft.trim() === '' ? undefined : (JSON.parse(draft) as unknown))
      setDraft(null)
    } catch {
      // Invalid text stays, to be corrected.
    }
  }
  const isWrong = draft !== null && !isJson(draft)
  return (
    <TextArea
      {...ids}
      mono
      rows={2}
      disabled={disabled}
      aria-invalid={ids['aria-invalid'] || isWrong}
      value={draft ?? (value === undefined ? '' : JSON.stringify(value))}
      onChange={setDraft}
      onBlur={take}
    />
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return text.trim() === ''
  }
}
