import { Table2 } from 'lucide-react'
import { useMemo, useState } from 'react'
import { IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { heatScale, heatSpecs, legendOf, type HeatScale, tokenValueText, visibleText } from './heat.ts'
import { TokenHeatMap } from './TokenHeatMap.tsx'
import { valuesPresent, type TokenRow, type TokenValue } from './tokenRows.ts'
import { numberColumn, figureColumn, plainColumn } from '#renderer/kit/columns.tsx'

interface ColouredTokensProps {
  readonly rows: readonly TokenRow[]
  /** Preferred value; if it was not recorded, another is shown. */
  readonly colour: TokenValue | 'none'
  readonly onColour: (colour: TokenValue | 'none') => void
  /** Largest advantage of the group. */
  readonly reach?: number
}

/** Tokens as text on a coloured background, or as a table of their values. */
export function ColouredTokens({ rows, colour, onColour, reach = 0 }: ColouredTokensProps) {
  const [isTable, setTable] = useState(false)
  const present = useMemo(() => valuesPresent(rows), [rows])
  const value = shownValue(colour, present)
  const scale = useMemo(
    () => (value === null ? null : heatScale(value, rows, value === 'advantage' ? reach : 0)),
    [value, rows, reach],
  )
  const options = [
    ...present.map((each) => ({ value: each, label: heatSpecs[each].title })),
    { value: 'none' as const, label: 'Nothing' },
  ]
  return (
    <>
      <div className="mb-3 flex items-start gap-3">
        <div className="flex grow flex-wrap items-center gap-x-3 gap-y-1">
          <label className="inline-flex items-center gap-2 text-sm text-muted">
            Colour by
            <Select small value={value ?? 'none'} options={options} onChange={onColour} className="w-32" />
          </label>
          {value !== null && <Help about={heatSpecs[value].title}>{heatSpecs[value].help}</Help>}
          {scale !== null && <HeatLegend scale={scale} />}
        </div>
        <IconButton
          small
          pressed={isTable}
          label={isTable ? 'Show the text' : 'Show the tokens as a table'}
          icon={Table2}
          iconSize={14}
          onClick={() => setTable(!isTable)}
        />
      </div>
      {isTable ? <TokenTable rows={rows} present={present} /> : <TokenHeatMap rows={rows} scale={scale} />}
    </>
  )
}

/** Returns the preferred value if it was recorded, else the first available. */
function shownValue(colour: TokenValue | 'none', present: readonly TokenValue[]): TokenValue | null {
  if (colour === 'none') return null
  return present.includes(colour)
    ? colour
    : (present.find((value) => value === 'probability') ??
        present.find((value) => value !== 'action') ??
        null)
}

function HeatLegend({ scale }: { scale: HeatScale }) {
  const words = legendOf(scale)
  const [low, middle, high] = words.length === 3 ? words : [words[0], null, words[1]]
  const background = scale.isSigned
    ? 'linear-gradient(to right, rgb(var(--heat-negative) / 0.5), transparent 50%, rgb(var(--heat-positive) / 0.5))'
    : 'linear-gradient(to right, transparent, rgb(var(--heat-one) / 0.5))'
  return (
    <figure
      aria-label={`Colours of ${heatSpecs[scale.value].title.toLowerCase()}: ${words.join(', ')}`}
      className="inline-flex items-center gap-1.5 font-mono text-xs text-muted tabular-nums"
    >
      <span>{low}</span>
      <span aria-hidden className="relative h-3 w-20 rounded-sm border border-line" style={{ background }}>
        {scale.isSigned && (
          <>
            <span className="absolute inset-x-0.5 bottom-0 mr-auto w-[42%] border-b-2 border-dotted border-[rgb(var(--heat-negative))]" />
            <span className="absolute right-0.5 bottom-0 w-[42%] border-b-2 border-[rgb(var(--heat-positive))]" />
          </>
        )}
      </span>
      <span>{high}</span>
      {middle !== null && <span className="sr-only">{middle} in the middle</span>}
    </figure>
  )
}

interface TokenTableProps {
  readonly rows: readonly TokenRow[]
  readonly present: readonly TokenValue[]
}

const widths: Readonly<Record<TokenValue, string>> = {
  action: '64px',
  probability: '88px',
  advantage: '84px',
  reward: '72px',
  ratio: '64px',
  kl: '64px',
  entropy: '76px',
}
const order: readonly TokenValue[] = ['probability', 'advantage', 'reward', 'ratio', 'kl', 'entropy']

/** Table of the same tokens, sortable by value. */
function TokenTable({ rows, present }: TokenTableProps) {
  const columns = useMemo((): readonly Column<TokenRow>[] => {
    const values = order
      .filter((value) => present.includes(value))
      .map((value): Column<TokenRow> =>
        figureColumn(
          [value, heatSpecs[value].title, widths[value]],
          (row) => tokenValueText(value, row),
          (row) => row[value],
        ),
      )
    return [
      numberColumn(['index', '#', '52px'], ({ index }) => index + 1, String),
      plainColumn(['token', 'Token', 'minmax(100px,1fr)'], ({ text, isAction, id }) => (
        <code title={`Id ${String(id)}`} className={isAction ? 'text-sm' : 'text-sm text-faint'}>
          {visibleText(text)}
        </code>
      )),
      ...values,
    ]
  }, [present])
  // The prompt's tokens were not sampled, so they have no values.
  const shown = rows.slice(
    Math.max(
      0,
      rows.findIndex(({ isAction }) => isAction),
    ),
  )
  return (
    <div className="flex h-80 flex-col rounded border border-line">
      <Table
        label="Tokens"
        rows={shown}
        columns={columns}
        rowKey={({ index }) => String(index)}
        rowHeight={26}
      />
    </div>
  )
}
