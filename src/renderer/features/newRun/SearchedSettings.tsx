import { Plus, X } from 'lucide-react'
import { useState } from 'react'
import { type SettingField, valueWords } from '#shared/config/fields.ts'
import { isEqual, valueAt, type JsonObject } from '#shared/config/paths.ts'
import type { Problem } from '#shared/errors.ts'
import { isLogRange } from '#shared/studies.ts'
import { unknownField } from '#renderer/client/runSettings.ts'
import { IconButton } from '#renderer/kit/Button.tsx'
import { Checkbox, Segmented, Select } from '#renderer/kit/choices.tsx'
import { NumberInput, TextInput, Form } from '#renderer/kit/inputs.tsx'
import { Picker } from '#renderer/kit/Picker.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { effectiveValue } from './draft.ts'
import { problemWords } from './problems.ts'
import { Sentence } from '#renderer/kit/Sentence.tsx'
import { algorithmOf } from './stages.ts'
import { canSearch, firstRange, kindOf, searchedIn, searchedKeyOf, withSearched } from './studyDraft.ts'
import type { Knowledge, PartProps } from './useNewRun.ts'

const pickerItem = (field: SettingField, known: Knowledge) => ({
  key: field.key,
  title: field.label,
  detail: field.help,
  group: known.sections.find((section) => section.fields.includes(field))?.title ?? 'Run',
  aside: <code className="font-mono text-xs text-faint">{field.key}</code>,
})

/** Chooses the settings that vary between trials, each with its range or values. */
export function SearchedSettings({ draft, known, problems, onChange }: PartProps) {
  const { config } = draft
  const kind = kindOf(config)
  const searched = searchedIn(config)
  const fields = searchableFields(known)
  const set = (key: string, range: JsonObject | undefined) =>
    onChange({ ...draft, config: withSearched(config, key, range) })
  const add = (key: string) => {
    const field = fields.find((each) => each.key === key)
    if (field === undefined) return
    const range = firstRange(kind, field, effectiveValue(config, field))
    set(key, key === 'algorithm.id' ? { values: alikeAlgorithms(config, known) } : range)
  }
  const general = problems.find(({ path }) => /^(sweep|population[.]mutation)[.]parameters$/.test(path))
  return (
    <section aria-label="Searched settings" className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <ul className="grid grid-cols-[minmax(0,1fr)] gap-2">
        {Object.entries(searched).map(([key, range]) => (
          <li key={key} className="rounded border border-line bg-panel px-3 py-2">
            <SearchedRow
              field={fields.find((each) => each.key === key) ?? unknownField(key)}
              range={range}
              isPopulation={kind === 'population'}
              problem={problems.find(({ path }) => searchedKeyOf(path) === key)}
              onChange={(next) => set(key, next)}
            />
          </li>
        ))}
      </ul>
      {general !== undefined && (
        <p className="text-sm text-bad">
          <Sentence text={problemWords(general)} />
        </p>
      )}
      <div>
        <Picker
          label="Search over another setting"
          placeholder="Search over another setting"
          value={null}
          items={fields
            .filter((field) => canSearch(kind, field) && searched[field.key] === undefined)
            .map((field) => pickerItem(field, known))}
          empty="Every setting is searched over."
          onChange={add}
          className="w-72 max-w-full"
        />
      </div>
    </section>
  )
}

/** Returns algorithms that learn from the same kind of rows as the chosen one. */
function alikeAlgorithms(config: JsonObject, { algorithms }: Knowledge): readonly string[] {
  const chosen = algorithms.find(({ id }) => id === algorithmOf(config))
  return algorithms.filter(({ experience }) => experience === chosen?.experience).map(({ id }) => id)
}

/** Returns searchable fields, including those with a step of their own in the wizard. */
function searchableFields({ fields, algorithms, models }: Knowledge): readonly SettingField[] {
  const chosen = (key: string, label: string, options: readonly { value: string; label: string }[]) => ({
    key,
    label,
    help: '',
    default: undefined,
    isNullable: false,
    empty: '',
    control: { kind: 'choice', options } as const,
  })
  return [
    chosen(
      'algorithm.id',
      'Algorithm',
      algorithms.map(({ id, title }) => ({ value: id, label: title })),
    ),
    chosen(
      'model',
      'Model',
      models.map(({ directory, name }) => ({ value: directory, label: name })),
    ),
    ...fields,
  ]
}

interface SearchedRowProps {
  readonly field: SettingField
  readonly range: JsonObject
  readonly isPopulation: boolean
  readonly problem: Problem | undefined
  /** Receives undefined to stop searching the setting. */
  readonly onChange: (range: JsonObject | undefined) => void
}

function SearchedRow({ field, range, isPopulation, problem, onChange }: SearchedRowProps) {
  const { label, key, help, control } = field
  const isList = 'values' in range
  const isNumber = control.kind === 'number'
  return (
    <div role="group" aria-label={label}>
      <div className="flex min-h-6 flex-wrap items-center gap-1">
        <h4 className="font-medium">{label}</h4>
        {help !== '' && <Help about={label}>{help}</Help>}
        <code className="min-w-0 grow basis-24 truncate font-mono text-xs text-faint">{key}</code>
        {isNumber && !isPopulation && (
          <Segmented
            label={`${label}: range or values`}
            value={isList ? 'values' : 'range'}
            options={{ range: 'Range', values: 'Values' }}
            onChange={(next) => onChange(next === 'range' ? rangeOf(range) : valuesOf(range))}
          />
        )}
        <IconButton
          small
          label={`Do not search over ${label}`}
          icon={X}
          onClick={() => onChange(undefined)}
        />
      </div>
      <div className="mt-1">
        {isList ? (
          <Values field={field} values={range['values']} onChange={(values) => onChange({ values })} />
        ) : (
          <Limits label={label} range={range} isPopulation={isPopulation} onChange={onChange} />
        )}
      </div>
      {problem !== undefined && (
        <p className="mt-1 text-sm text-bad">
          <Sentence text={problemWords(problem)} />
        </p>
      )}
    </div>
  )
}

/** Returns the range from the smallest to the largest of the previous values. */
function rangeOf({ values }: JsonObject): JsonObject {
  const numbers = (Array.isArray(values) ? values : []).filter((value) => typeof value === 'number')
  const [min, max] = [Math.min(...numbers), Math.max(...numbers)]
  return max > min ? { min, max } : { min: 0, max: 1 }
}

const valuesOf = ({ min, max }: JsonObject): JsonObject => ({ values: [min, max] })

interface LimitsProps {
  readonly label: string
  readonly range: JsonObject
  readonly isPopulation: boolean
  readonly onChange: (range: JsonObject) => void
}

function Limits({ label, range, isPopulation, onChange }: LimitsProps) {
  const number = (name: string, words: string, initial: number | null) => (
    <label className="flex min-w-0 flex-col">
      <span className="text-sm text-muted">{words}</span>
      <NumberInput
        aria-label={`${label}: ${words.toLowerCase()}`}
        value={typeof range[name] === 'number' ? range[name] : initial}
        onChange={(next) => next !== null && onChange({ ...range, [name]: next })}
      />
    </label>
  )
  return (
    <div className="grid grid-cols-[repeat(auto-fit,minmax(112px,1fr))] gap-x-3 gap-y-1">
      {number('min', 'From', null)}
      {number('max', 'To', null)}
      <label className="flex min-w-0 flex-col">
        <span className="text-sm text-muted">Scale</span>
        <Select
          aria-label={`${label}: scale`}
          value={typeof range['scale'] === 'string' ? range['scale'] : ''}
          options={{ '': scaleWords(range), linear: 'Linear', log: 'Log' }}
          onChange={(scale) => {
            const { scale: _, ...others } = range
            onChange(scale === '' ? others : { ...others, scale })
          }}
        />
      </label>
      {isPopulation && number('grow', 'Grows by ×', 1.2)}
      {isPopulation && number('shrink', 'Shrinks by ×', 0.8)}
    </div>
  )
}

const scaleWords = ({ min, max }: JsonObject): string =>
  isLogRange({ min: Number(min), max: Number(max), scale: null, whole: null })
    ? 'Automatic: log'
    : 'Automatic: linear'

interface ValuesProps {
  readonly field: SettingField
  readonly values: unknown
  readonly onChange: (values: readonly unknown[]) => void
}

function Values({ field, values, onChange }: ValuesProps) {
  const { control, label } = field
  const given: readonly unknown[] = Array.isArray(values) ? values : []
  const options =
    control.kind === 'choice'
      ? control.options
      : control.kind === 'flag'
        ? [false, true].map((value) => ({ value, label: valueWords(value) }))
        : null
  if (options === null) return <ValueList label={label} values={given} onChange={onChange} />
  return (
    <div className="flex flex-wrap gap-x-4">
      {options.map((option) => (
        <Checkbox
          key={String(option.value)}
          label={option.label}
          checked={given.includes(option.value)}
          onChange={(isOn) =>
            onChange(
              options
                .map(({ value }) => value)
                .filter((value) => (value === option.value ? isOn : given.includes(value))),
            )
          }
        />
      ))}
    </div>
  )
}

interface ValueListProps {
  readonly label: string
  readonly values: readonly unknown[]
  readonly onChange: (values: readonly unknown[]) => void
}

/** Edits numbers or JSON values as removable items. */
function ValueList({ label, values, onChange }: ValueListProps) {
  const [text, setText] = useState('')
  const add = () => {
    const added = parsedValues(text).filter((value) => !values.some((each) => isEqual(each, value)))
    if (added.length > 0) onChange([...values, ...added])
    setText('')
  }
  return (
    <div className="flex flex-wrap items-center gap-1">
      {values.map((value, i) => (
        <span key={JSON.stringify(value)} className="inline-flex items-center rounded bg-raised pl-2">
          <code className="font-mono text-sm">{JSON.stringify(value)}</code>
          <IconButton
            small
            label={`Remove ${JSON.stringify(value)} from ${label}`}
            icon={X}
            iconSize={12}
            onClick={() => onChange(values.toSpliced(i, 1))}
          />
        </span>
      ))}
      <Form className="flex gap-1" onSubmit={add}>
        <TextInput
          mono
          className="w-36"
          aria-label={`${label}: further values`}
          placeholder="16, 32, 64"
          value={text}
          onChange={setText}
          onBlur={add}
        />
        <IconButton label={`Add values to ${label}`} icon={Plus} iconSize={13} onClick={add} />
      </Form>
    </div>
  )
}

/** Splits a text at commas and parses each part as JSON, else as plain text. */
export function parsedValues(text: string): unknown[] {
  try {
    return JSON.parse(`[${text}]`) as unknown[]
  } catch {
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map((part) => {
        const number = Number(part)
        return Number.isFinite(number) ? number : part
      })
  }
}

/** Formats “searched from 0.00001 to 0.01”. */
export function searchedWords(config: JsonObject, key: string): string | undefined {
  const range = searchedIn(config)[key]
  if (range === undefined) return undefined
  const values = valueAt(range, 'values')
  if (Array.isArray(values)) return `Searched: ${values.map(valueWords).join(', ')}`
  return `Searched from ${valueWords(range['min'])} to ${valueWords(range['max'])}`
}
