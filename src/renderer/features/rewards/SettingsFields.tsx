import { RotateCcw } from 'lucide-react'
import { IconButton } from '#renderer/kit/Button.tsx'
import { Switch } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { NumberInput, TextInput } from '#renderer/kit/inputs.tsx'
import type { SettingValue, SettingValues } from '#renderer/parts/rewardTypes.ts'

interface SettingsFieldsProps {
  /** Settings declared by the code, with their defaults. */
  readonly known: SettingValues
  /** Changed settings only. */
  readonly values: SettingValues
  readonly onChange: (values: SettingValues) => void
  /** Suggestions for settings that name a column. */
  readonly columns?: readonly string[]
}

/** Shows one control per setting, by the type of its default; changes can be reset. */
export function SettingsFields({ known, values, onChange, columns = [] }: SettingsFieldsProps) {
  const set = (name: string, value: SettingValue | undefined) => {
    const { [name]: _, ...others } = values
    onChange(value === undefined || value === known[name] ? others : { ...others, [name]: value })
  }
  return (
    <div className="grid grid-cols-[repeat(auto-fill,minmax(150px,1fr))] gap-x-3 gap-y-2">
      {Object.entries(known).map(([name, usual]) => (
        <SettingField
          key={name}
          {...{ name, usual, columns }}
          value={values[name]}
          onChange={(value) => set(name, value)}
        />
      ))}
    </div>
  )
}

interface SettingFieldProps {
  readonly name: string
  readonly usual: SettingValue
  readonly value: SettingValue | undefined
  readonly columns: readonly string[]
  readonly onChange: (value: SettingValue | undefined) => void
}

function SettingField({ name, usual, value, columns, onChange }: SettingFieldProps) {
  const shown = value ?? usual
  const reset = value !== undefined && (
    <IconButton
      small
      label={`Reset ${name} to ${String(usual)}`}
      icon={RotateCcw}
      iconSize={12}
      onClick={() => onChange(undefined)}
    />
  )
  const isColumn = typeof shown === 'string' && /column/i.test(name) && columns.length > 0
  const fault = isColumn && !columns.includes(shown) ? 'The rows have no column of this name.' : null
  return (
    <Field label={name} aside={reset} error={fault}>
      {(ids) => {
        if (typeof shown === 'boolean')
          return <Switch id={ids.id} aria-label={name} checked={shown} onChange={onChange} />
        if (typeof shown === 'number')
          return <NumberInput {...ids} value={shown} onChange={(next) => onChange(next ?? undefined)} />
        const list = `${ids.id}-columns`
        return (
          <>
            <TextInput {...ids} mono value={shown} onChange={onChange} {...(isColumn ? { list } : {})} />
            {isColumn && (
              <datalist id={list}>
                {columns.map((column) => (
                  <option key={column} value={column} />
                ))}
              </datalist>
            )}
          </>
        )
      }}
    </Field>
  )
}
