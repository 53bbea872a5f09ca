import { useId, type ComponentType, type ReactNode } from 'react'
import { Help } from './Tooltip.tsx'
import { classes } from './classes.ts'

export interface FieldProps {
  readonly label: string
  readonly help?: ReactNode
  readonly error?: ReactNode
  readonly note?: ReactNode
  /** Content right of the label, such as a reset button. */
  readonly aside?: ReactNode
  readonly className?: string | undefined
  readonly children: (ids: FieldIds) => ReactNode
}

export interface FieldIds {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean
}

/** A control with its label, explanation and error. */
export function Field({ label, help, error, note, aside, className, children }: FieldProps) {
  const id = useId()
  const hasNote = Boolean(error) || note !== undefined
  const noteId = `${id}-note`
  return (
    <div className={classes('flex min-w-0 flex-col', className)}>
      <div className="flex min-h-7 flex-wrap items-center gap-0.5">
        <label htmlFor={id} className="text-sm font-medium text-muted">
          {label}
        </label>
        {help !== undefined && <Help about={label}>{help}</Help>}
        {aside !== undefined && <span className="mb-1 ml-auto">{aside}</span>}
      </div>
      {children({ id, 'aria-describedby': hasNote ? noteId : undefined, 'aria-invalid': Boolean(error) })}
      {hasNote && (
        <p id={noteId} className={classes('mt-1 text-xs', error ? 'text-bad' : 'text-faint')}>
          {error ?? note}
        </p>
      )}
    </div>
  )
}

export interface Around extends Omit<FieldProps, 'children'> {
  /** Class of the control; `className` is that of the field. */
  readonly inputClassName?: string
}

/** Puts a control into a field, which takes the props about its label; all others go to the control. */
export function inField<Props>(Control: ComponentType<Props>) {
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

export type OwnProps<Props> = Omit<Props, keyof FieldIds | keyof Around>
