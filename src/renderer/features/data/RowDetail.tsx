import { classes } from '#renderer/kit/classes.ts'
import { CopyButton } from '#renderer/kit/states.tsx'
import { kindOf, messagesOf, type DataRow } from './columnFacts.ts'

/** One row with every value in full. */
interface RowDetailProps {
  readonly row: DataRow
  readonly number: number
  /** Names stand left of their values instead of over them. */
  readonly isWide?: boolean
}

export function RowDetail({ row, number, isWide = false }: RowDetailProps) {
  return (
    <section aria-label={`Row ${String(number)}`} className="flex min-h-0 grow flex-col">
      <header className="flex h-8 shrink-0 items-center gap-2 border-b border-line bg-panel pr-2 pl-4 text-sm font-medium text-muted">
        Row {number}
        <span className="ml-auto">
          <CopyButton label="Copy as JSON" text={JSON.stringify(row, null, 2)} />
        </span>
      </header>
      <dl
        tabIndex={0}
        className={classes(
          'grid min-h-0 grow content-start overflow-auto px-4 py-3 -outline-offset-2',
          isWide
            ? 'grid-cols-[minmax(64px,max-content)_minmax(0,1fr)] gap-x-4 gap-y-2'
            : 'grid-cols-[minmax(0,1fr)]',
        )}
      >
        {Object.entries(row).map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="max-w-48 truncate text-muted" title={name}>
              {name}
            </dt>
            <dd className={isWide ? undefined : 'mb-4'}>
              <Value value={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Value({ value }: { value: unknown }) {
  const kind = kindOf(value)
  if (kind === 'empty' || value === '') return <span className="text-faint">empty</span>
  if (typeof value === 'string')
    return (
      <p dir="auto" className="break-words whitespace-pre-wrap">
        {value}
      </p>
    )
  const messages = messagesOf(value)
  if (messages.length > 0) {
    return (
      <ol className="flex flex-col gap-2">
        {messages.map(({ role, content }, at) => (
          <li key={at} className="border-l-2 border-line pl-3">
            <p className="text-xs text-faint">{role}</p>
            <p dir="auto" className="break-words whitespace-pre-wrap">
              {content}
            </p>
          </li>
        ))}
      </ol>
    )
  }
  return (
    <pre dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
      {JSON.stringify(value, null, 2)}
    </pre>
  )
}
