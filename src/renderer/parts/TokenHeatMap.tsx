import { memo, useMemo, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react'
import { classes } from '#renderer/kit/classes.ts'
import { heatLook, tokenWords, type HeatScale } from './heat.ts'
import { segmentsOf, type Segment, type TokenRow } from './tokenRows.ts'

interface Props {
  readonly rows: readonly TokenRow[]
  /** Null shows no colours. */
  readonly scale: HeatScale | null
  /** Text below while no token is being read. */
  readonly about?: string
  /** Describes a token. Default: everything the run recorded. */
  readonly wordsOf?: (row: TokenRow) => ReactNode
}

const usualAbout = 'Point at a token, or use the arrow keys, to read its values'

/**
 * Tokens as running text on a coloured background; a dotted underline marks negative values, a plain one positive.
 * Details of a token appear below while the pointer or the arrow keys are on it.
 */
export function TokenHeatMap({ rows, scale, about = usualAbout, wordsOf = tokenWords }: Props) {
  const [active, setActive] = useState<number | null>(null)
  const segments = useMemo(() => segmentsOf(rows), [rows])
  const hasTurns = segments.length > 2
  const firstAction = rows.findIndex(({ isAction }) => isAction)
  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    const next = active === null ? Math.max(0, firstAction) : active + by
    reach(event.currentTarget, Math.min(rows.length - 1, Math.max(0, next)))
  }
  const reach = (map: HTMLElement, index: number) => {
    setActive(index)
    map.querySelector(`[data-token="${String(index)}"]`)?.scrollIntoView({ block: 'nearest' })
  }
  const onPointerOver = ({ target }: PointerEvent) => {
    const at = target instanceof HTMLElement ? target.dataset['token'] : undefined
    if (at !== undefined) setActive(Number(at))
  }
  const row = active === null ? undefined : rows[active]
  return (
    <>
      <div
        role="group"
        tabIndex={0}
        aria-label="Tokens; arrow keys read their values"
        onKeyDown={onKeyDown}
        onPointerOver={onPointerOver}
        onPointerLeave={() => setActive(null)}
        onBlur={() => setActive(null)}
        dir="auto"
        className="flex max-h-[55vh] flex-col gap-2 overflow-auto rounded-sm p-0.5 font-mono break-words whitespace-pre-wrap"
      >
        {segments.map((segment) => (
          <div key={segment.rows[0]?.index ?? 0}>
            {hasTurns && <p className="mb-0.5 font-sans text-xs text-faint">{segmentTitle(segment)}</p>}
            <p className={segmentLook(segment)}>
              {segment.rows.map((each) => (
                <Token key={each.index} row={each} scale={scale} isActive={each.index === active} />
              ))}
            </p>
          </div>
        ))}
      </div>
      <div
        role="status"
        className={classes(
          'mt-2 min-h-9 font-mono text-sm break-words tabular-nums',
          row ? 'text-text' : 'text-faint',
        )}
      >
        {row ? wordsOf(row) : about}
      </div>
    </>
  )
}

const segmentLook = ({ kind }: Parameters<typeof segmentTitle>[0]): string =>
  classes(
    kind === 'turn' ? 'leading-6' : 'leading-5 text-faint',
    kind === 'reply' && 'border-l-2 border-line pl-3',
  )

const segmentTitle = ({ kind, turn }: Segment): string =>
  kind === 'prompt' ? 'Prompt' : kind === 'turn' ? `Turn ${String(turn)}` : `Answer to turn ${String(turn)}`

interface TokenProps {
  readonly row: TokenRow
  readonly scale: HeatScale | null
  readonly isActive: boolean
}

const underlines = {
  none: '',
  positive: 'underline decoration-[rgb(var(--heat-positive))] decoration-2 underline-offset-4',
  negative:
    'underline decoration-[rgb(var(--heat-negative))] decoration-2 decoration-dotted underline-offset-4',
} as const

/** Memoized, so that moving re-renders only the previous and the current token. */
const Token = memo(({ row, scale, isActive }: TokenProps) => {
  const look = scale === null ? null : heatLook(scale, row[scale.value])
  return (
    <span
      data-token={row.index}
      className={classes(
        'rounded-[2px]',
        isActive && 'outline-2 outline-accent',
        look !== null && underlines[look.underline],
      )}
      style={look === null ? undefined : { backgroundColor: look.backgroundColor }}
    >
      {shownText(row)}
    </span>
  )
})

/** Makes line ends visible in addition to breaking the line. */
const shownText = ({ text, isAction }: TokenRow): string => (isAction ? text.replaceAll('\n', '⏎\n') : text)
