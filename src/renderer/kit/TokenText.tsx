import { useRef, useState, type KeyboardEvent, type MouseEvent, type ReactNode } from 'react'
import { plural } from '#renderer/client/format.ts'
import { classes } from './classes.ts'

export interface TextToken {
  readonly id: number
  readonly text: string
}

interface TokenTextProps {
  readonly label: string
  readonly tokens: readonly TextToken[]
  /** Content above the text; the token pointed at is explained right of it. */
  readonly header?: ReactNode
  readonly className?: string
}

/** Text split into tokens, told apart by two shades; the one under the pointer or the arrow keys is explained. */
export function TokenText({ label, tokens, header, className }: TokenTextProps) {
  const [at, setAt] = useState<number | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const point = (event: MouseEvent) => {
    const index = (event.target as HTMLElement).dataset['token']
    setAt(index === undefined ? null : Number(index))
  }
  const move = (event: KeyboardEvent) => {
    const next = { ArrowRight: (at ?? -1) + 1, ArrowLeft: (at ?? 1) - 1, Home: 0, End: tokens.length - 1 }[
      event.key
    ]
    if (next === undefined) return
    event.preventDefault()
    const index = Math.min(tokens.length - 1, Math.max(0, next))
    setAt(index)
    box.current?.querySelector(`[data-token="${String(index)}"]`)?.scrollIntoView({ block: 'nearest' })
  }
  const token = at === null ? undefined : tokens[at]
  return (
    <div>
      <div className="mb-1 flex min-h-4 items-center gap-3 text-xs text-faint tabular-nums">
        {header}
        <p aria-live="polite" className="ml-auto min-w-0 truncate">
          {token !== undefined && at !== null && (
            <>
              Token {at + 1} of {tokens.length} · id <span className="font-mono text-text">{token.id}</span> ·{' '}
              <span className="font-mono text-text">{JSON.stringify(token.text)}</span>
            </>
          )}
        </p>
      </div>
      <div
        ref={box}
        tabIndex={0}
        role="group"
        aria-label={`${label}, ${plural(tokens.length, 'token')}; arrow keys go through them`}
        onMouseOver={point}
        onMouseLeave={() => setAt(null)}
        onKeyDown={move}
        dir="auto"
        className={classes('font-mono text-sm leading-6 break-words whitespace-pre-wrap', className)}
      >
        {tokens.map(({ text }, index) => (
          <span
            key={index}
            data-token={index}
            className={classes(
              'rounded-sm py-0.5',
              index % 2 === 0 ? 'bg-accent-soft' : 'bg-raised',
              index === at && 'outline outline-accent',
            )}
          >
            {visible(text)}
          </span>
        ))}
      </div>
    </div>
  )
}

/** Makes line ends visible, still breaking the line; a token without text of its own keeps a placeholder. */
const visible = (text: string): string => (text === '' ? '·' : text.replaceAll('\n', '⏎\n'))
