/** Form of a request's settings, from the schema that the host parses it with. */
import { useState, type ReactNode } from 'react'
import { rangeWords, requestFields, type RequestSchema, type RequestSettings } from '#shared/config/fields.ts'
import { Field } from './Field.tsx'
import { SettingControl } from './SettingRow.tsx'

/** Values as typed; null: empty. */
type Values<S extends RequestSchema> = {
  readonly [Name in keyof RequestSettings<S>]: RequestSettings<S>[Name] | null
}

export interface RequestForm<S extends RequestSchema = RequestSchema> {
  readonly schema: S
  readonly values: Values<S>
  set(changes: Partial<Values<S>>): void
  /** Null while a value is missing or refused. */
  readonly parsed: RequestSettings<S> | null
  /** Sentence for each value that is refused. */
  readonly problems: ReadonlyMap<string, string>
}

/** Holds the values of a form; those not given begin with their defaults. */
export function useRequestForm<S extends RequestSchema>(schema: S, initial: Partial<Values<S>> = {}) {
  const [values, setValues] = useState(() => ({ ...defaultsOf(schema), ...initial }))
  return formOf(schema, values, (changes) => setValues((before) => ({ ...before, ...changes })))
}

export const defaultsOf = <S extends RequestSchema>(schema: S): Values<S> =>
  Object.fromEntries(
    requestFields(schema).map(({ key, default: initial }) => [key, initial ?? null]),
  ) as Values<S>

/** Describes values that are held elsewhere. */
export function formOf<S extends RequestSchema>(
  schema: S,
  values: Values<S>,
  set: RequestForm<S>['set'],
): RequestForm<S> {
  const { success, data, error } = schema.safeParse(values)
  const words = new Map(requestFields(schema).map(({ key, control }) => [key, rangeWords(control)]))
  const problems = (error?.issues ?? []).map(({ code, message, path: [name] }) => {
    const text = code === 'custom' ? message : words.get(String(name)) || 'A value is needed.'
    return [String(name), text] as const
  })
  return { schema, values, set, parsed: success ? data : null, problems: new Map(problems) }
}

/** Describes values that are held elsewhere, where only valid ones arrive; what is refused stays as typed. */
export function useAcceptedForm<S extends RequestSchema>(
  schema: S,
  accepted: RequestSettings<S>,
  onAccept: (values: RequestSettings<S>) => void,
): RequestForm<S> {
  const [typed, setTyped] = useState<Partial<Values<S>>>({})
  const values: Values<S> = { ...accepted, ...typed }
  return formOf(schema, values, (changes) => {
    const { data } = schema.safeParse({ ...values, ...changes })
    setTyped(data === undefined ? { ...typed, ...changes } : {})
    if (data !== undefined) onAccept(data)
  })
}

interface RequestFieldsProps {
  readonly form: RequestForm
  /** Names of the settings to show; default: all. */
  readonly only?: readonly string[]
  readonly without?: readonly string[]
  /** Labels and placeholders that say more than the schema can. */
  readonly labels?: Readonly<Record<string, string>>
  readonly placeholders?: Readonly<Record<string, string>>
}

/** Shows the settings of a request, each with its explanation and what is wrong with it. */
export function RequestFields(props: RequestFieldsProps) {
  const { form, only, without = [], labels = {}, placeholders = {} } = props
  const isShown = (name: string) => (only ?? [name]).includes(name) && !without.includes(name)
  return requestFields(form.schema)
    .filter(({ key }) => isShown(key))
    .map((field): ReactNode => {
      const label = labels[field.key] ?? field.label
      const shown = { ...field, label, empty: placeholders[field.key] ?? field.empty }
      return (
        <Field key={field.key} label={label} help={field.help} error={form.problems.get(field.key) ?? null}>
          {(ids) => (
            <SettingControl
              field={shown}
              value={form.values[field.key]}
              onChange={(value) => form.set({ [field.key]: value ?? null })}
              ids={ids}
            />
          )}
        </Field>
      )
    })
}
