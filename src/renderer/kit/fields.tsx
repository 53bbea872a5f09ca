import type { ComponentType, ReactNode } from 'react'
import { Select, type SelectProps } from './choices.tsx'
import { Field, type FieldIds, type FieldProps } from './Field.tsx'
import { NumberInput, TextArea, TextInput } from './inputs.tsx'

interface Around extends Omit<FieldProps, 'children'> {
  /** Class of the control; `className` is that of the field. */
  readonly inputClassName?: string
}

/** Puts a control into a field, which takes the props about its label; all others go to the control. */
function inField<Props>(Control: ComponentType<Props>) {
  return function InField({
    label,
    help,
    error,
    note,
    aside,
    className,
    inputClassName,
    ...rest
  }: Around & OwnProps<Props>) {
    return (
      <Field {...{ label, help, error, note, aside, className }}>
        {(ids) => <Control {...ids} className={inputClassName} {...(rest as Props)} />}
      </Field>
    )
  }
}

type OwnProps<Props> = Omit<Props, keyof FieldIds | keyof Around>

export const NumberField = inField(NumberInput)
export const TextField = inField(TextInput)
export const AreaField = inField(TextArea)
export const SelectField = inField(Select) as <Value extends string>(
  props: Around & OwnProps<SelectProps<Value>>,
) => ReactNode
