import { CircleAlert, Copy, Check, type LucideIcon } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { copyText } from '#renderer/client/clipboard.ts'
import { formatCount } from '#renderer/client/format.ts'
import { codeOf, hintOf } from '#renderer/client/toasts.ts'
import { Button, IconButton } from './Button.tsx'
import { classes } from './classes.ts'

interface EmptyStateProps {
  readonly icon?: LucideIcon
  /** Pixels. Default: 28, drawn finely. */
  readonly iconSize?: number
  readonly strokeWidth?: number
  /** One sentence on what will appear here. */
  readonly title: string
  readonly children?: ReactNode
  readonly action?: ReactNode
}

export function EmptyState(props: EmptyStateProps) {
  const { icon: Icon, iconSize = 28, strokeWidth = iconSize < 28 ? 2 : 1.5, title, children, action } = props
  return (
    <div className="mx-auto flex max-w-100 flex-col items-center gap-3 px-4 py-12 text-center">
      {Icon && (
        <div className="text-faint">
          <Icon {...{ strokeWidth }} size={iconSize} aria-hidden />
        </div>
      )}
      <p className="text-lg font-medium text-balance">{title}</p>
      {children !== undefined && <div className="text-muted text-pretty">{children}</div>}
      {action}
    </div>
  )
}

interface ErrorNoteProps {
  readonly error:
    Error | { readonly message: string; readonly hint?: string | null; readonly code?: string | null }
  /** Button such as “Try again”. */
  readonly action?: ReactNode
  readonly className?: string
}

/** Says what happened, what is safe and what to do; details can be copied. */
export function ErrorNote({ error, action, className }: ErrorNoteProps) {
  const hint = error instanceof Error ? hintOf(error) : error.hint
  const code = error instanceof Error ? codeOf(error) : error.code
  const details = [code, error.message, hint].filter(Boolean).join('\n')
  return (
    <div
      role="alert"
      className={classes('flex items-start gap-2 rounded border border-bad bg-bad-soft px-3 py-2', className)}
    >
      <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-bad" />
      <div className="min-w-0 grow break-words">
        <p className="font-medium text-text">{error.message}</p>
        {hint && <p className="text-muted">{hint}</p>}
      </div>
      {action}
      <CopyButton text={details} label="Copy details" />
    </div>
  )
}

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  return (
    <IconButton
      small
      label={isCopied ? 'Copied' : label}
      icon={isCopied ? Check : Copy}
      onClick={() => void copyText(text, () => setCopied(true))}
      onBlur={() => setCopied(false)}
    />
  )
}

interface ProgressProps {
  readonly label: string
  /** 0 to 1; null if unknown. */
  readonly value: number | null
  readonly className?: string
}

export function Progress({ label, value, className }: ProgressProps) {
  const share = value === null ? null : Math.min(1, Math.max(0, value))
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={share === null ? undefined : Math.round(share * 100)}
      className={classes('h-1 min-w-16 overflow-hidden rounded-full bg-raised', className)}
    >
      <div
        className={classes('h-full rounded-full bg-accent', share === null && 'w-1/3 animate-pulse')}
        style={share === null ? undefined : { width: `${String(share * 100)}%` }}
      />
    </div>
  )
}

interface TaskProgressProps {
  readonly progress: {
    readonly phase: string
    readonly done: number
    readonly total: number | null
    readonly unit: string
  }
  readonly onCancel?: () => void
}

export function TaskProgress({ progress: { phase, done, total, unit }, onCancel }: TaskProgressProps) {
  const counted = `${formatCount(done)}${total === null ? '' : ` of ${formatCount(total)}`} ${unit}`
  return (
    <div className="flex items-center gap-3" role="status">
      <span className="shrink-0 text-muted">{phase}</span>
      <Progress label={phase} value={total === null || total === 0 ? null : done / total} className="grow" />
      <span className="shrink-0 text-sm text-faint tabular-nums">{unit === 'bytes' ? '' : counted}</span>
      {onCancel !== undefined && (
        <Button small onClick={onCancel}>
          Cancel
        </Button>
      )}
    </div>
  )
}

/** Names work of seconds to minutes, such as writing an answer. */
export const Busy = ({ label }: { label: string }) => (
  <p role="status" className="flex items-center gap-2 p-4 text-muted">
    <span aria-hidden className="size-2 animate-pulse rounded-full bg-accent" />
    {label}…
  </p>
)

type Shape = 'text' | 'table' | 'panels' | 'cards'

const boxes: Readonly<Record<Shape, { readonly around: string; readonly each: readonly string[] }>> = {
  text: { around: 'flex flex-col gap-2.5 p-4', each: ['h-3.5 w-2/5', 'h-3.5 w-4/5', 'h-3.5 w-3/5'] },
  table: {
    around: 'flex flex-col gap-px',
    each: ['h-8', ...Array.from({ length: 9 }, () => 'h-9 rounded-none')],
  },
  panels: {
    around: 'grid grid-cols-2 gap-4 p-4 narrow:grid-cols-1',
    each: Array.from({ length: 6 }, () => 'h-48'),
  },
  cards: {
    around: 'grid grid-cols-[minmax(0,1fr)_320px] items-start gap-6 narrow:grid-cols-1',
    each: ['h-72', 'h-28', 'h-56', 'h-40'],
  },
}

/** Stands where something will be, in its shape, until it is read. */
export const Loading = ({ label = 'Loading', shape = 'text' }: { label?: string; shape?: Shape }) => (
  <div
    role="status"
    aria-label={`${label}…`}
    className={classes('w-full animate-pulse', boxes[shape].around)}
  >
    {boxes[shape].each.map((box, i) => (
      <span key={i} aria-hidden className={classes('block rounded bg-raised', box)} />
    ))}
  </div>
)

/** Shape of one thing that is being loaded, in its place. */
export const Skeleton = ({ label, className }: { label: string; className: string }) => (
  <span
    role="status"
    aria-label={`${label}…`}
    className={classes('block animate-pulse rounded bg-raised', className)}
  />
)

export const Kbd = ({ children }: { children: ReactNode }) => (
  <kbd className="inline-flex h-5 min-w-5 items-center justify-center rounded-sm border border-line bg-panel px-1 font-sans text-xs text-muted">
    {children}
  </kbd>
)
