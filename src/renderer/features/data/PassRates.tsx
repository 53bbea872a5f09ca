import { useMemo, useState, type ReactNode } from 'react'
import { formatCount, formatPercent, formatShares, plural } from '#renderer/client/format.ts'
import { Segmented } from '#renderer/kit/choices.tsx'
import { CountBars } from '#renderer/charts/Histogram.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { cellText, rowColumn } from '#renderer/parts/columnFacts.ts'
import {
  bandCounts,
  bandOf,
  binLabel,
  rateBins,
  rated,
  type Band,
  type MeasuredRow,
  type RatedRow,
  type UnmeasuredRow,
} from './passRates.ts'
import { NumberField } from '#renderer/kit/inputs.tsx'
import { numberColumn, verbatimColumn, plainColumn } from '#renderer/kit/columns.tsx'

interface PassRatesProps {
  readonly rows: readonly MeasuredRow[]
  readonly problems: readonly UnmeasuredRow[]
  readonly samples: number
  /** Renders what can be done with the rows shown. */
  readonly action?: (shown: readonly RatedRow[]) => ReactNode
}

const defaultPassMark = 0.5

const bandLooks: Readonly<
  Record<Band, { readonly fill: string; readonly color: string; readonly words: string }>
> = {
  hard: { fill: 'bg-run-2', color: 'var(--run-2)', words: 'Too hard' },
  useful: { fill: 'bg-run-3', color: 'var(--run-3)', words: 'Worth training on' },
  easy: { fill: 'bg-run-1', color: 'var(--run-1)', words: 'Too easy' },
}

/** Histogram of pass rates per row: how many rows a run can learn from, and which. */
export function PassRates({ rows, problems, samples, action }: PassRatesProps) {
  const [passMark, setPassMark] = useState<number | null>(defaultPassMark)
  const [band, setBand] = useState<Band | 'all'>('all')
  const all = useMemo(() => rated(rows, passMark ?? defaultPassMark), [rows, passMark])
  const shown = useMemo(
    () => (band === 'all' ? all : all.filter(({ rate }) => bandOf(rate) === band)),
    [all, band],
  )
  const counts = bandCounts(all)
  const shares = formatShares([counts.hard, counts.useful, counts.easy, counts.unrated], 0.1)
  return (
    <div className="flex min-h-0 grow flex-col">
      <div className="grid shrink-0 grid-cols-[minmax(0,1fr)_220px] gap-6 px-6 py-4 narrow:grid-cols-[minmax(0,1fr)]">
        <RateChart rows={all} samples={samples} />
        <div className="flex flex-col gap-2">
          {(['hard', 'useful', 'easy'] as const).map((id, at) => (
            <p key={id} className="flex items-center gap-2 tabular-nums">
              <span className={classes('size-2 rounded-full', bandLooks[id].fill)} aria-hidden />
              <span className="grow text-muted">{bandLooks[id].words}</span>
              {formatCount(counts[id])}
              <span className="w-14 text-right text-sm text-faint">{shares[at]}</span>
            </p>
          ))}
          {counts.unrated > 0 && (
            <p className="text-sm text-caution">{plural(counts.unrated, 'row')} without a reward</p>
          )}
          {problems.length > 0 && (
            <p className="text-sm text-caution">{plural(problems.length, 'row')} without a prompt</p>
          )}
          <NumberField
            label="Passes from a reward of"
            help="A completion with at least this reward counts as passed. Leave as is for rewards of 0 and 1. With several parts, set the score that counts as a pass."
            value={passMark}
            onChange={setPassMark}
          />
        </div>
      </div>
      <div className="flex shrink-0 items-center gap-3 border-y border-line bg-panel px-6 py-2">
        <Segmented
          label="Rows shown"
          value={band}
          options={{ all: 'All', hard: 'Too hard', useful: 'Worth training on', easy: 'Too easy' }}
          onChange={setBand}
        />
        <span className="ml-auto text-sm text-faint tabular-nums">{plural(shown.length, 'row')}</span>
        {action?.(shown)}
      </div>
      <Table
        label="Rows by pass rate"
        rows={shown}
        columns={columns}
        rowKey={({ row }) => String(row)}
        rowHeight={28}
        initialSorting={{ columnId: 'rate', isDescending: false }}
        empty={<p className="p-4 text-muted">No rows match.</p>}
      />
    </div>
  )
}

const columns: readonly Column<RatedRow>[] = [
  rowColumn,
  plainColumn(
    ['rate', 'Pass rate', '132px'],
    ({ rate }) => <RateBar rate={rate} />,
    ({ rate }) => rate,
  ),
  numberColumn(['mean', 'Mean reward', '104px'], ({ mean }) => mean),
  verbatimColumn(
    ['text', 'Prompt', 'minmax(240px, 1fr)'],
    ({ text }) => cellText(text),
    ({ text }) => text,
  ),
]

function RateBar({ rate }: { rate: number | null }) {
  const band = bandOf(rate)
  if (rate === null || band === null) return <span className="text-faint">no reward</span>
  return (
    <span className="flex items-center gap-2">
      <span className="h-1.5 w-14 overflow-hidden rounded-full bg-raised">
        <span
          className={classes('block h-full', bandLooks[band].fill)}
          style={{ width: `${String(rate * 100)}%` }}
        />
      </span>
      <span className="font-mono text-sm tabular-nums">{formatPercent(rate)}</span>
    </span>
  )
}

function RateChart({ rows, samples }: { rows: readonly RatedRow[]; samples: number }) {
  const title = `Rows by how many of their ${plural(samples, 'completion passes', 'completions pass')}`
  const bars = rateBins(rows, samples).map((bin) => ({
    label: binLabel(bin, samples),
    count: bin.count,
    color: bandLooks[bin.band].color,
  }))
  return (
    <figure className="min-w-0">
      <figcaption className="mb-2 text-sm text-muted">{title}</figcaption>
      <CountBars label={title} bars={bars} />
    </figure>
  )
}
