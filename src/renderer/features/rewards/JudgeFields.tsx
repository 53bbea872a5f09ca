import type { ReactNode } from 'react'
import { judgeDefaults, judgeSettings, rubrics, type RubricName } from '#shared/config/judge.ts'
import { fieldsOf } from '#shared/config/fields.ts'
import { ModelPicker } from '#renderer/parts/ModelPicker.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { TextArea, AreaField } from '#renderer/kit/inputs.tsx'
import { SettingRow } from '#renderer/kit/SettingRow.tsx'
import { ModelPlace, type Place } from '#renderer/kit/ModelPlace.tsx'
import type { SettingValue, SettingValues } from '#renderer/parts/rewardTypes.ts'

interface JudgeFieldsProps {
  /** Changed settings only. */
  readonly values: SettingValues
  readonly onChange: (values: SettingValues) => void
}

const fields = new Map(
  fieldsOf(judgeSettings, 'settings').map((field) => [field.key.slice('settings.'.length), field]),
)

const scoreNames = ['min', 'max', 'read', 'referenceColumn']
const askingNames = ['scoreAfter', 'temperature', 'maxNewTokens']
const machineNames = ['adapter', 'precision', 'device']
const addressNames = ['address', 'servedModel', 'keyVariable']
const requestNames = ['timeoutSeconds', 'retries', 'maxConcurrent', 'promptPrice', 'answerPrice', 'budget']

/** Settings of a judge: model, rubric, and scale of the score. */
export function JudgeFields({ values, onChange }: JudgeFieldsProps) {
  // A cleared address is still one to be entered.
  const isHere = values['address'] === undefined
  const set = (name: string, value: SettingValue | undefined) => {
    const { [name]: _, ...others } = values
    const isUsual = value === judgeDefaults[name] && name !== 'address'
    onChange(value === undefined || isUsual ? others : { ...others, [name]: value })
  }
  const move = (next: Place) => {
    const left = next === 'machine' ? [...addressNames, ...requestNames] : ['model', ...machineNames]
    const kept = Object.entries(values).filter(([name]) => !left.includes(name))
    onChange({ ...Object.fromEntries(kept), ...(next === 'machine' ? {} : { address: 'https://' }) })
  }
  const rows = { values, set }
  return (
    <div className="flex flex-col gap-3">
      <ModelPlace label="Where the judge is" value={isHere ? 'machine' : 'address'} onChange={move} />
      {isHere ? (
        <Field label="Judge">
          {(ids) => (
            <ModelPicker
              {...ids}
              label="Judge"
              value={typeof values['model'] === 'string' ? { model: values['model'] } : null}
              onChange={({ model }) => set('model', model)}
            />
          )}
        </Field>
      ) : (
        <>
          <Rows names={addressNames} {...rows} />
          <p className="text-sm text-pretty text-caution">
            Prompts, completions and reference answers are sent to this address.
          </p>
        </>
      )}
      <Rubric
        value={String(values['rubric'] ?? judgeDefaults['rubric'])}
        onChange={(next) => set('rubric', next)}
      />
      <Rows names={scoreNames} {...rows} />
      <More>
        <LongText name="question" {...rows} />
        <Rows names={askingNames} {...rows} />
        <Rows names={isHere ? machineNames : requestNames} {...rows} />
      </More>
    </div>
  )
}

interface RowsProps {
  readonly values: SettingValues
  readonly set: (name: string, value: SettingValue | undefined) => void
}

const Rows = ({ names, values, set }: RowsProps & { readonly names: readonly string[] }) => (
  <div className="grid grid-cols-[repeat(auto-fill,minmax(170px,1fr))] gap-x-4 gap-y-2">
    {names.map((name) => {
      const field = fields.get(name)
      const usual = judgeDefaults[name]
      if (field === undefined) return null
      return (
        <SettingRow
          key={name}
          field={field}
          value={values[name] ?? usual}
          base={usual}
          isChanged={values[name] !== undefined}
          // A cleared text stays empty.
          onChange={(next) =>
            set(name, (next ?? (typeof usual === 'string' ? '' : undefined)) as SettingValue)
          }
          onReset={() => set(name, usual)}
        />
      )
    })}
  </div>
)

function LongText({ name, values, set }: RowsProps & { readonly name: string }) {
  const field = fields.get(name)
  return (
    <AreaField
      label={field?.label ?? name}
      help={field?.help}
      rows={8}
      value={String(values[name] ?? judgeDefaults[name])}
      onChange={(next) => set(name, next === '' ? undefined : next)}
    />
  )
}

const ownText = 'own'

const rubricLabels: Readonly<Record<RubricName, string>> = {
  correctness: 'Correctness',
  helpfulness: 'Helpfulness',
  instructions: 'Following instructions',
  concision: 'Concision',
  harmlessness: 'Harmlessness',
}

const isName = (rubric: string): rubric is RubricName => Object.hasOwn(rubrics, rubric)

/** Chooses a built-in rubric, or a custom one that starts as a copy of the previous choice. */
function Rubric({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (rubric: string) => void
}) {
  const text = isName(value) ? rubrics[value] : value
  return (
    <Field label="Rubric" help={fields.get('rubric')?.help}>
      {(ids) => (
        <div className="flex flex-col gap-1">
          <Select
            small
            aria-label="Rubric to begin with"
            className="self-start"
            value={isName(value) ? value : ownText}
            options={[
              ...Object.entries(rubricLabels).map(([name, label]) => ({ value: name, label })),
              { value: ownText, label: 'My own text' },
            ]}
            onChange={(next) => onChange(next === ownText ? `${text} ` : next)}
          />
          <TextArea {...ids} rows={4} value={text} onChange={onChange} />
        </div>
      )}
    </Field>
  )
}

const More = ({ children }: { readonly children: ReactNode }) => (
  <details className="rounded border border-line px-3 py-2">
    <summary className="cursor-pointer font-medium">More settings of the judge</summary>
    <div className="flex flex-col gap-3 pt-2">{children}</div>
  </details>
)
