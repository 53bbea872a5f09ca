import { useState, useMemo } from 'react'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { formatCount, formatShares, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Checkbox, Segmented } from '#renderer/kit/choices.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { Busy, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import { useSettled } from '#renderer/client/settled.ts'
import { usePreparation } from '#renderer/parts/useData.ts'
import type { SplitRule } from '#renderer/parts/preparation.ts'
import type { Opened } from './usePrompt.ts'
import { NumberField } from '#renderer/kit/inputs.tsx'
import { numberColumn, verbatimColumn } from '#renderer/kit/columns.tsx'

/** Shows which rows form the validation split, and whether any of them also occur in training. */
export function SplitTab({ opened: { version } }: { opened: Opened }) {
  const [{ heldOut }, change] = usePreparation(version.id)
  const [seed, setSeed] = useState(heldOut?.seed ?? 42)
  const [columns, setColumns] = useState<readonly string[]>([])
  const kind = heldOut === null ? 'none' : 'share' in heldOut ? 'share' : 'rows'
  const problem = heldOut === null ? null : splitProblem(heldOut, version.rows)
  const set = (rule: SplitRule | null) => change({ heldOut: rule })
  return (
    <SplitPane id="data.split" sizes={[32, 68]} minimums={[300, 360]}>
      <div className="flex min-h-0 grow flex-col gap-4 overflow-auto py-4 pr-6 pl-page">
        <div>
          <p className="mb-3 text-muted text-pretty">
            Validation rows are never trained on. A run is evaluated on them regularly, which shows what it
            learned rather than memorised.
          </p>
          <Segmented
            label="Validation split"
            value={kind}
            options={{ share: 'A share', rows: 'A number', none: 'None' }}
            onChange={(next) => set(withKind(next, seed, version.rows))}
          />
        </div>
        {heldOut !== null && (
          <div className="grid grid-cols-2 gap-3">
            <NumberField
              {...amountWords[kind === 'share' ? 'share' : 'rows']}
              error={problem}
              value={'share' in heldOut ? Math.round(heldOut.share * 1000) / 10 : heldOut.rows}
              onChange={(value) => {
                const next = withAmount(heldOut, value)
                if (next !== null) set(next)
              }}
            />
            <NumberField
              label="Seed"
              help="The same seed gives the same split."
              value={heldOut.seed}
              onChange={(value) => {
                if (value === null || value < 0 || !Number.isInteger(value)) return
                setSeed(value)
                set({ ...heldOut, seed: value })
              }}
            />
          </div>
        )}
        {heldOut !== null && (
          <AlikeBy names={version.columns.map(({ name }) => name)} columns={columns} onChange={setColumns} />
        )}
      </div>
      {heldOut === null || problem !== null ? (
        <p className="px-6 py-4 text-muted">
          {problem ?? 'No validation split: runs on this version are evaluated only on rows they train on.'}
        </p>
      ) : (
        <Sides versionId={version.id} heldOut={heldOut} columns={columns} />
      )}
    </SplitPane>
  )
}

const amountWords = {
  share: { label: 'Share in percent', help: 'Rows added later move none of these to the other side.' },
  rows: { label: 'Rows', help: 'This many rows, or a few more to keep copies together.' },
} as const

interface AlikeByProps {
  readonly names: readonly string[]
  /** Empty: all columns. */
  readonly columns: readonly string[]
  readonly onChange: (columns: readonly string[]) => void
}

function AlikeBy({ names, columns, onChange }: AlikeByProps) {
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium text-muted">Rows are alike if they agree in</legend>
      <div className="flex flex-col">
        <Checkbox label="Every column" checked={columns.length === 0} onChange={() => onChange([])} />
        {names.map((name) => (
          <Checkbox
            key={name}
            label={name}
            checked={columns.includes(name)}
            onChange={(isOn) =>
              onChange(isOn ? [...columns, name] : columns.filter((other) => other !== name))
            }
          />
        ))}
      </div>
      <p className="mt-1 text-xs text-faint">White space and case make no difference.</p>
    </fieldset>
  )
}

interface SidesProps {
  readonly versionId: string
  readonly heldOut: SplitRule
  readonly columns: readonly string[]
}

function Sides(props: SidesProps) {
  const { versionId, heldOut, columns } = useSettled(props)
  const split = useAnswer('datasets.split', { versionId, split: heldOut }, { keep: true })
  const alike = useAnswer('datasets.leaks', { versionId, heldOut, columns: [...columns] }, { keep: true })
  const error = split.error ?? alike.error
  if (error !== null) return <ErrorNote error={error} className="m-4" />
  if (split.data === undefined) return <Loading label="Splitting" />
  return (
    <div className="flex min-h-0 grow flex-col">
      <Shares train={split.data.train} heldOut={split.data.heldOut} />
      {alike.data === undefined ? <Busy label="Searching for duplicates" /> : <Alike found={alike.data} />}
    </div>
  )
}

function Shares({ train, heldOut }: { train: number; heldOut: number }) {
  const all = train + heldOut
  const [trainShare, heldOutShare] = formatShares([train, heldOut], 0.1)
  return (
    <div className="shrink-0 px-6 py-4">
      <div className="flex h-2 gap-px overflow-hidden rounded-full" aria-hidden>
        <span className="bg-run-1" style={{ width: `${String((train / all) * 100)}%` }} />
        <span className="grow bg-run-2" />
      </div>
      <div className="mt-2 flex justify-between gap-4 tabular-nums">
        <span className="flex items-center gap-2">
          <span className="size-2 rounded-full bg-run-1" aria-hidden />
          {plural(train, 'training row')} <span className="text-faint">{trainShare}</span>
        </span>
        <span className="flex items-center gap-2">
          <span className="size-2 rounded-full bg-run-2" aria-hidden />
          {plural(heldOut, 'validation row')} <span className="text-faint">{heldOutShare}</span>
        </span>
      </div>
    </div>
  )
}

const kinds = [
  {
    id: 'leaks',
    title: 'Validation rows that are also trained on',
    good: 'No validation row is trained on.',
    places: ['Training row', 'Validation row'],
  },
  {
    id: 'trainDuplicates',
    title: 'Copies among the training rows',
    good: 'No training row is duplicated.',
    places: ['First', 'Copy'],
  },
  {
    id: 'heldOutDuplicates',
    title: 'Copies among the validation rows',
    good: 'No validation row is duplicated.',
    places: ['First', 'Copy'],
  },
] as const

/** Shows one list of similar rows at a time; marks give the sizes of the others. */
function Alike({ found }: { found: Answer<'datasets.leaks'> }) {
  const [id, setId] = useState<(typeof kinds)[number]['id']>('leaks')
  const shown = kinds.find((kind) => kind.id === id) ?? kinds[0]
  const { count, pairs } = found[shown.id]
  return (
    <>
      <div
        className="flex shrink-0 flex-wrap items-center gap-2 border-y border-line bg-panel px-6 py-2"
        role="group"
        aria-label="Rows that are alike"
      >
        {kinds.map(({ id: other, title }) => (
          <button
            key={other}
            type="button"
            aria-pressed={other === id}
            onClick={() => setId(other)}
            className="inline-flex h-7 items-center gap-2 rounded px-2 text-sm text-muted hover:bg-raised aria-pressed:bg-accent-soft aria-pressed:text-accent-ink"
          >
            {title}
            <Badge tone={found[other].count === 0 ? 'good' : 'caution'}>
              {formatCount(found[other].count)}
            </Badge>
          </button>
        ))}
      </div>
      {count === 0 ? (
        <p className="px-6 py-4 text-muted">{shown.good}</p>
      ) : (
        <MatchList label={shown.title} pairs={pairs} places={shown.places} />
      )}
      {pairs.length < count && (
        <p className="shrink-0 border-t border-line px-6 py-2 text-sm text-faint">
          The first {formatCount(pairs.length)} of {formatCount(count)} are listed.
        </p>
      )}
    </>
  )
}

type Pair = Answer<'datasets.leaks'>['leaks']['pairs'][number]

interface MatchListProps {
  readonly label: string
  readonly pairs: readonly Pair[]
  readonly places: readonly [string, string]
}

function MatchList({ label, pairs, places: [first, second] }: MatchListProps) {
  const columns = useMemo(
    (): readonly Column<Pair>[] => [
      numberColumn(['first', first, '112px'], (pair) => pair.first + 1, formatCount),
      numberColumn(['second', second, '112px'], (pair) => pair.second + 1, formatCount),
      verbatimColumn(['text', 'Both say', 'minmax(240px, 1fr)'], ({ text }) => text),
    ],
    [first, second],
  )
  return (
    <Table
      label={label}
      rows={pairs}
      columns={columns}
      rowKey={(pair) => `${String(pair.first)} ${String(pair.second)}`}
      rowHeight={28}
    />
  )
}

// Form of the validation split.

type SplitKind = 'share' | 'rows' | 'none'

const defaultShare = 0.1

/** Returns a default amount of that kind; null: no split. */
export function withKind(kind: SplitKind, seed: number, rows: number): SplitRule | null {
  if (kind === 'none') return null
  if (kind === 'share') return { share: defaultShare, seed }
  return { rows: Math.max(1, Math.min(rows - 1, Math.round(rows * defaultShare))), seed }
}

/** Sets the amount, a share in percent. Null if it is not a usable number. */
export function withAmount(rule: SplitRule, amount: number | null): SplitRule | null {
  if (amount === null || !(amount > 0)) return null
  if ('rows' in rule) return Number.isInteger(amount) ? { rows: amount, seed: rule.seed } : null
  // Typed percentages such as 12.5 % keep their exact value.
  return amount < 100 ? { share: Number((amount / 100).toFixed(6)), seed: rule.seed } : null
}

export function splitProblem(rule: SplitRule, rows: number): string | null {
  if (rows < 2) return 'One row alone cannot be split.'
  if ('rows' in rule && rule.rows >= rows) return `Leave some of the ${plural(rows, 'row')} to train on.`
  return null
}
