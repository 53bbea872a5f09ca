import { Check, ChevronDown } from 'lucide-react'
import {
  Checkbox as RadixCheckbox,
  Slider as RadixSlider,
  Switch as RadixSwitch,
  ToggleGroup,
} from 'radix-ui'
import type { ComponentProps, ReactNode } from 'react'
import { classes } from './classes.ts'
import { inField, type Around, type OwnProps } from './Field.tsx'

export interface Option<Value extends string> {
  readonly value: Value
  readonly label: string
  readonly disabled?: boolean
}

/** Options in their order: each in full, by its value alone, or all as a record from value to label. */
export type Options<Value extends string> =
  readonly (Option<Value> | Value)[] | Readonly<Record<Value, string>>

function listOf<Value extends string>(options: Options<Value>): readonly Option<Value>[] {
  const isList = (some: Options<Value>): some is readonly (Option<Value> | Value)[] => Array.isArray(some)
  return isList(options)
    ? options.map((option) => (typeof option === 'string' ? { value: option, label: option } : option))
    : Object.entries<string>(options).map(([value, label]) => ({ value: value as Value, label }))
}

export interface SelectProps<Value extends string> extends Omit<
  ComponentProps<'select'>,
  'value' | 'onChange'
> {
  readonly value: Value
  readonly options: Options<Value>
  readonly onChange: (value: Value) => void
  readonly small?: boolean
}

/** Native select: it works with keys, screen readers and any number of entries. */
export function Select<Value extends string>({
  value,
  options,
  onChange,
  small = false,
  className,
  ...rest
}: SelectProps<Value>) {
  return (
    <span className={classes('relative inline-flex min-w-0', className)}>
      <select
        value={value}
        onChange={(event) => onChange(event.target.value as Value)}
        className={classes(
          'w-full min-w-0 appearance-none truncate rounded border border-line-strong bg-bg pr-7 pl-2 text-text disabled:opacity-50 aria-invalid:border-bad',
          small ? 'h-6 text-sm' : 'h-7',
        )}
        {...rest}
      >
        {listOf(options).map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled}>
            {option.label}
          </option>
        ))}
      </select>
      <ChevronDown
        size={13}
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2 -translate-y-1/2 text-faint"
      />
    </span>
  )
}

export const SelectField = inField(Select) as <Value extends string>(
  props: Around & OwnProps<SelectProps<Value>>,
) => ReactNode

interface AnySelectProps extends Omit<SelectProps<string>, 'options'> {
  /** Label of the empty value. */
  readonly any: string
  readonly options: readonly (Option<string> | string)[]
}

/** Select in which nothing need be chosen. */
export const AnySelect = ({ any, options, ...rest }: AnySelectProps) => (
  <Select options={[{ value: '', label: any }, ...options]} {...rest} />
)

interface CheckboxProps {
  readonly checked: boolean | 'indeterminate'
  readonly onChange: (checked: boolean) => void
  /** Visible text; if omitted, pass `aria-label`. */
  readonly label?: ReactNode
  readonly 'aria-label'?: string
  readonly disabled?: boolean
}

export function Checkbox({ checked, onChange, label, disabled = false, ...rest }: CheckboxProps) {
  const box = (
    <RadixCheckbox.Root
      checked={checked}
      disabled={disabled}
      onCheckedChange={(next) => onChange(next === true)}
      aria-label={rest['aria-label']}
      className="inline-flex size-6 shrink-0 items-center justify-center rounded disabled:opacity-50 [&[data-state=checked]>span]:border-accent [&[data-state=checked]>span]:bg-accent [&[data-state=indeterminate]>span]:border-accent [&[data-state=indeterminate]>span]:bg-accent"
    >
      <span className="inline-flex size-4 items-center justify-center rounded-sm border border-line-strong bg-bg text-accent-text">
        <RadixCheckbox.Indicator>
          {checked === 'indeterminate' ? (
            <span className="block h-0.5 w-2 bg-current" />
          ) : (
            <Check size={12} aria-hidden />
          )}
        </RadixCheckbox.Indicator>
      </span>
    </RadixCheckbox.Root>
  )
  if (label === undefined) return box
  return (
    <label className="inline-flex items-center gap-1">
      {box}
      <span>{label}</span>
    </label>
  )
}

export function Switch({
  checked,
  onChange,
  disabled = false,
  ...rest
}: Omit<CheckboxProps, 'checked' | 'label'> & { checked: boolean; id?: string }) {
  return (
    <RadixSwitch.Root
      checked={checked}
      disabled={disabled}
      onCheckedChange={onChange}
      className="relative inline-flex h-6 w-9 shrink-0 items-center rounded-full border border-line-strong bg-raised transition-colors duration-100 data-[state=checked]:border-accent data-[state=checked]:bg-accent disabled:opacity-50"
      {...rest}
    >
      <RadixSwitch.Thumb className="block size-4 translate-x-1 rounded-full bg-faint transition-transform duration-100 data-[state=checked]:translate-x-4 data-[state=checked]:bg-accent-text" />
    </RadixSwitch.Root>
  )
}

interface SliderProps {
  readonly label: string
  readonly value: number
  readonly min: number
  readonly max: number
  readonly step: number
  readonly onChange: (value: number) => void
  readonly className?: string
}

export function Slider({ label, value, min, max, step, onChange, className }: SliderProps) {
  return (
    <RadixSlider.Root
      {...{ min, max, step }}
      value={[value]}
      onValueChange={([next]) => next !== undefined && onChange(next)}
      className={classes('relative flex h-6 min-w-24 touch-none items-center select-none', className)}
    >
      <RadixSlider.Track className="relative h-1 grow rounded-full bg-line-strong">
        <RadixSlider.Range className="absolute h-full rounded-full bg-accent" />
      </RadixSlider.Track>
      <RadixSlider.Thumb
        aria-label={label}
        className="block size-4 rounded-full border-2 border-accent bg-bg"
      />
    </RadixSlider.Root>
  )
}

interface SegmentedProps<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: Options<Value>
  readonly onChange: (value: Value) => void
}

/** Exclusive choice among a few options, all visible. */
export function Segmented<Value extends string>({ label, value, options, onChange }: SegmentedProps<Value>) {
  return (
    <ToggleGroup.Root
      type="single"
      aria-label={label}
      value={value}
      // Pressing the selected option again would deselect it.
      onValueChange={(next) => next !== '' && onChange(next as Value)}
      className="inline-flex min-h-7 max-w-full shrink-0 flex-wrap items-stretch rounded border border-line-strong bg-bg p-px"
    >
      {listOf(options).map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          disabled={option.disabled}
          className="min-h-6 rounded-sm px-2 text-sm whitespace-nowrap text-muted hover:text-text data-[state=on]:bg-accent-soft data-[state=on]:font-medium data-[state=on]:text-accent-ink disabled:opacity-50"
        >
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  )
}

/** The same below its label, as a field of a form. */
export const SegmentedField = <Value extends string>(props: SegmentedProps<Value>) => (
  <div className="flex flex-col items-start">
    <span className="flex min-h-7 items-center text-sm font-medium text-muted">{props.label}</span>
    <Segmented {...props} />
  </div>
)
