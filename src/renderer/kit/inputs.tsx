import { Search, X } from 'lucide-react'
import { useState, type ComponentProps, type Ref } from 'react'
import { classes } from './classes.ts'
import { inField } from './Field.tsx'

const box =
  'rounded border border-line-strong bg-bg text-text placeholder:text-faint disabled:opacity-50 aria-invalid:border-bad'

interface TextProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange'> {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly small?: boolean
  readonly mono?: boolean
}

export function TextInput({ value, onChange, small = false, mono = false, className, ...rest }: TextProps) {
  return (
    <input
      type="text"
      dir="auto"
      spellCheck={false}
      autoComplete="off"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className={classes(
        box,
        'w-full min-w-0 px-2',
        small ? 'h-6 text-sm' : 'h-7',
        mono && 'font-mono text-sm',
        className,
      )}
      {...rest}
    />
  )
}

interface AreaProps extends Omit<ComponentProps<'textarea'>, 'value' | 'onChange'> {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly mono?: boolean
}

export function TextArea({ value, onChange, mono = false, className, ...rest }: AreaProps) {
  return (
    <textarea
      dir="auto"
      spellCheck={false}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className={classes(box, 'w-full min-w-0 px-2 py-1', mono && 'font-mono text-sm', className)}
      {...rest}
    />
  )
}

interface NumberProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange'> {
  /** Null if empty. */
  readonly value: number | null
  readonly onChange: (value: number | null) => void
  readonly small?: boolean
}

/** Accepts 1e-4 and 0,5; text that is not yet a number, or overflows, is kept as typed and not reported. */
export function NumberInput({ value, onChange, small = false, className, ...rest }: NumberProps) {
  const [draft, setDraft] = useState<string | null>(null)
  const take = (text: string) => {
    setDraft(text)
    const number = Number(text.trim().replace(',', '.'))
    if (text.trim() === '') onChange(null)
    else if (Number.isFinite(number)) onChange(number)
  }
  return (
    <input
      type="text"
      inputMode="decimal"
      autoComplete="off"
      value={draft ?? (value === null ? '' : String(value))}
      onChange={(event) => take(event.target.value)}
      onBlur={() => setDraft(null)}
      className={classes(box, 'w-full min-w-0 px-2 tabular-nums', small ? 'h-6 text-sm' : 'h-7', className)}
      {...rest}
    />
  )
}

interface SearchProps extends Omit<ComponentProps<'input'>, 'value' | 'onChange'> {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly ref?: Ref<HTMLInputElement>
}

export function SearchInput({ label, value, onChange, className, ...rest }: SearchProps) {
  return (
    <span className={classes('relative inline-flex items-center', className)}>
      <Search size={13} aria-hidden className="pointer-events-none absolute left-2 text-faint" />
      <input
        type="text"
        role="searchbox"
        aria-label={label}
        placeholder={label}
        spellCheck={false}
        autoComplete="off"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className={classes(box, 'h-7 w-full pr-7 pl-7')}
        {...rest}
      />
      {value !== '' && (
        <button
          type="button"
          aria-label="Clear"
          className="absolute right-0.5 inline-flex size-6 items-center justify-center rounded text-faint hover:text-text"
          onClick={() => onChange('')}
        >
          <X size={13} aria-hidden />
        </button>
      )}
    </span>
  )
}

interface FormProps extends Omit<ComponentProps<'form'>, 'onSubmit'> {
  readonly onSubmit: () => void
}

/** Form that is handled by the page. */
export const Form = ({ onSubmit, ...rest }: FormProps) => (
  <form
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
    {...rest}
  />
)

export const NumberField = inField(NumberInput)
export const TextField = inField(TextInput)
export const AreaField = inField(TextArea)
