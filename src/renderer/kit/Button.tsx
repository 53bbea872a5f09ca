import type { LucideIcon } from 'lucide-react'
import type { ComponentProps } from 'react'
import { classes } from './classes.ts'
import { Tooltip } from './Tooltip.tsx'

type Variant = 'primary' | 'plain' | 'quiet' | 'danger'

const variants: Readonly<Record<Variant, string>> = {
  primary: 'bg-accent text-accent-text border-transparent font-medium enabled:hover:bg-accent-hover',
  plain: 'bg-bg text-text border-line-strong enabled:hover:bg-raised',
  quiet: 'bg-transparent text-muted border-transparent enabled:hover:bg-raised enabled:hover:text-text',
  danger: 'bg-bg text-bad border-line-strong enabled:hover:bg-bad-soft enabled:hover:border-bad',
}

export interface ButtonProps extends ComponentProps<'button'> {
  readonly variant?: Variant
  readonly small?: boolean
  readonly icon?: LucideIcon | undefined
  /** Pixels. Default: 14, in a small button 13. */
  readonly iconSize?: number
}

/** Says by its ground that it cannot be pressed, with words that can still be read: 4.5:1 and more. */
const disabledLook = 'disabled:border-line disabled:bg-raised disabled:text-faint'

/** Button; `primary` is for the one main action of a page. */
export function Button({
  variant = 'plain',
  small = false,
  icon: Icon,
  iconSize = small ? 13 : 14,
  className,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      className={classes(
        'inline-flex shrink-0 items-center justify-center gap-1.5 rounded border whitespace-nowrap transition-colors duration-100',
        disabledLook,
        small ? 'h-6 px-2 text-sm' : 'h-7 px-3',
        variants[variant],
        className,
      )}
      {...rest}
    >
      {Icon && <Icon size={iconSize} aria-hidden />}
      {children}
    </button>
  )
}

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  /** Accessible name and tooltip. */
  readonly label: string
  readonly icon: LucideIcon
  /** Pixels. Default: 16, in a small button 13. */
  readonly iconSize?: number
  readonly small?: boolean
  readonly pressed?: boolean
}

export function IconButton(props: IconButtonProps) {
  const { label, icon: Icon, small = false, iconSize = small ? 13 : 16, pressed, className, ...rest } = props
  return (
    <Tooltip text={label}>
      <button
        type="button"
        aria-label={label}
        aria-pressed={pressed}
        className={classes(
          'inline-flex shrink-0 items-center justify-center rounded text-muted transition-colors duration-100 enabled:hover:bg-raised enabled:hover:text-text disabled:opacity-50',
          small ? 'size-6' : 'size-7',
          pressed === true && 'bg-accent-soft text-accent-ink',
          className,
        )}
        {...rest}
      >
        <Icon size={iconSize} aria-hidden />
      </button>
    </Tooltip>
  )
}
