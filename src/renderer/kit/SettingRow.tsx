import type { ReactNode } from 'react'
import { RotateCcw } from 'lucide-react'
import { IconButton } from './Button.tsx'
import { Field } from './Field.tsx'
import { classes } from './classes.ts'
import { rangeWords, type SettingField } from '#shared/config/fields.ts'
import { toolNameWords, useRunSettings, valueWords } from '#renderer/client/runSettings.ts'
import { SettingControl } from './SettingControl.tsx'

export interface SettingRowProps {
  readonly field: SettingField
  readonly value: unknown
  /** What it is when nobody changes it. */
  readonly base: unknown
  readonly isChanged: boolean
  readonly onChange: (value: unknown) => void
  readonly onReset: () => void
  /** What the host says is wrong with it. */
  readonly problem?: ReactNode
  readonly note?: string | undefined
  readonly disabled?: boolean
  /** Name other than the setting's own. */
  readonly label?: string
}

/** A setting with its explanation; a changed one is marked and can be taken back by itself. */
export function SettingRow(props: SettingRowProps) {
  const { field, value, base, isChanged, onChange, onReset, problem, note, disabled = false } = props
  const { toolNames = {} } = useRunSettings() ?? {}
  const label = props.label ?? field.label
  const reset = isChanged && !disabled && (
    <IconButton
      small
      label={`Reset ${label} to ${valueWords(base)}`}
      icon={<RotateCcw size={12} aria-hidden />}
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
      {...(note === undefined ? {} : { note })}
      aside={
        <>
          {isChanged && <span className="sr-only">Changed</span>}
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
