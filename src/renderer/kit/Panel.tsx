import type { ReactNode } from 'react'
import { classes } from './classes.ts'

interface PanelProps {
  readonly title?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** No space around the content: tables and charts bring their own. */
  readonly isFlush?: boolean
  readonly className?: string
}

/** A framed group of things that belong together. */
export function Panel({ title, actions, children, isFlush = false, className }: PanelProps) {
  return (
    <section className={classes('flex min-w-0 flex-col rounded border border-line bg-bg', className)}>
      {(title !== undefined || actions !== undefined) && (
        <header className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-2 gap-y-1 border-b border-line py-1 pr-2 pl-3">
          <h2 className="min-w-0 truncate font-medium">{title}</h2>
          <div className="ml-auto flex min-w-0 flex-wrap items-center gap-1">{actions}</div>
        </header>
      )}
      <div className={classes('min-h-0 min-w-0 grow', !isFlush && 'p-3')}>{children}</div>
    </section>
  )
}

/** Facts as a list of names and values. */
export function KeyValue({
  entries,
  className,
}: {
  entries: readonly (readonly [string, ReactNode])[]
  className?: string
}) {
  return (
    <dl className={classes('grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1', className)}>
      {entries.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
