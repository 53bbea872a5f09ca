import { Table2, TriangleAlert } from 'lucide-react'
import { useMemo, useState, type ReactNode } from 'react'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { setQuery } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { formatDelta, plural, formatNumber } from '#renderer/client/format.ts'
import { IconButton } from '#renderer/kit/Button.tsx'
import { Select } from '#renderer/kit/choices.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { CopyButton, ErrorNote } from '#renderer/kit/states.tsx'
import { rewardWeights } from '#renderer/features/run/runFacts.ts'
import { Table, type Column } from '#renderer/kit/Table.tsx'
import type { SampleAddress } from './address.ts'
import { EditedCopy, rewardTerms } from './EditedCopy.tsx'
import { advantageReach, isScored, stopWords, type Sample, type SampleGroup } from './groups.ts'
import { heatScale, heatSpecs, legendOf, type HeatScale, tokenValueText, visibleText } from './heat.ts'
import { LoggedColumns, OriginRow } from './OriginRow.tsx'
import { TokenHeatMap } from './TokenHeatMap.tsx'
import { tokenRows, valuesPresent, type TokenRow, type TokenValue } from './tokenRows.ts'

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig | null
  readonly sample: Sample | undefined
  readonly group: SampleGroup | undefined
  readonly colour: SampleAddress['colour']
}

const none: ReadonlyMap<string, number> = new Map()

/** One completion: its tokens, what it was worth and why, and a copy to try things on. */
export function CompletionPane({ config, sample, group, colour }: Props) {
  const weights = useMemo(() => (config === null ? none : rewardWeights(config)), [config])
  if (sample === undefined) return <p className="p-4 text-muted">Choose a completion.</p>
  return (
    <section aria-label="Completion" className="flex min-h-0 grow flex-col overflow-auto">
      <Tokens key={sample.id} sample={sample} group={group} colour={colour} />
      {isScored(sample) && (
        <Part title="Reward">
          <RewardTerms sample={sample} weights={weights} />
        </Part>
      )}
      {weights.size > 0 && <EditedCopy key={`edit ${String(sample.id)}`} sample={sample} />}
      {Object.keys(sample.logged).length > 0 && (
        <Part title="Logged by the reward">
          <LoggedColumns logged={sample.logged} />
        </Part>
      )}
      <OriginRow sample={sample} />
    </section>
  )
}

const Part = ({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) => (
  <section aria-label={title} className="border-t border-line px-4 py-3">
    <header className="mb-2 flex min-h-6 items-center gap-2">
      <h3 className="font-medium">{title}</h3>
      {aside}
    </header>
    {children}
  </section>
)

type TokensProps = Pick<Props, 'group' | 'colour'> & { readonly sample: Sample }

/** The text itself, coloured where the run recorded its tokens. */
function Tokens({ sample, group, colour }: TokensProps) {
  const [isTable, setTable] = useState(false)
  const { data: arrays, error } = useAnswer(
    'samples.arrays',
    { sampleId: sample.id },
    { enabled: sample.hasArrays },
  )
  const rows = useMemo(() => (arrays === undefined ? null : tokenRows(arrays)), [arrays])
  return (
    <>
      <header className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-3 border-b border-line bg-panel px-4 text-sm text-muted tabular-nums">
        <h2 className="font-medium">
          Completion{' '}
          {group === undefined
            ? ''
            : `${String(group.samples.findIndex(({ id }) => id === sample.id) + 1)} of ${String(group.samples.length)}`}
        </h2>
        <span>{plural(sample.tokens, 'token')}</span>
        <span>{stopWords(sample.stopReason)}</span>
        {sample.advantage !== null && isScored(sample) && (
          <span>advantage {formatDelta(sample.advantage)}</span>
        )}
        <span className="ml-auto">
          <CopyButton text={sample.completion} label="Copy the completion" />
        </span>
      </header>
      <div className="shrink-0 px-4 py-3">
        {error !== null && <ErrorNote error={error} className="mb-3" />}
        {rows === null ? (
          <PlainText sample={sample} isComing={sample.hasArrays && error === null} />
        ) : (
          <ColouredTokens
            rows={rows}
            colour={colour}
            isScored={isScored(sample)}
            reach={group === undefined ? 0 : advantageReach(group.samples)}
            isTable={isTable}
            onTable={() => setTable(!isTable)}
          />
        )}
      </div>
    </>
  )
}

function PlainText({ sample, isComing }: { sample: Sample; isComing: boolean }) {
  return (
    <>
      <p dir="auto" className="font-mono break-words whitespace-pre-wrap text-muted">
        {sample.prompt}
      </p>
      <p dir="auto" className="mt-2 font-mono break-words whitespace-pre-wrap">
        {sample.completion}
      </p>
      {!isComing && <p className="mt-2 text-sm text-faint">The run recorded no token values.</p>}
    </>
  )
}

interface ColouredProps {
  readonly rows: readonly TokenRow[]
  readonly colour: SampleAddress['colour']
  /** By rewards: only then advantages tell tokens apart. */
  readonly isScored: boolean
  /** Of advantages in the group. */
  readonly reach: number
  readonly isTable: boolean
  readonly onTable: () => void
}

function ColouredTokens({ rows, colour, isScored, reach, isTable, onTable }: ColouredProps) {
  const present = useMemo(() => valuesPresent(rows), [rows])
  const value = shownValue(colour ?? (isScored ? 'advantage' : 'probability'), present)
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
      <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-1">
        <label className="inline-flex items-center gap-2 text-sm text-muted">
          Colour by
          <Select
            small
            value={value ?? 'none'}
            options={options}
            onChange={(next) => setQuery({ colour: next })}
            className="w-32"
          />
        </label>
        {value !== null && <Help about={heatSpecs[value].title}>{heatSpecs[value].help}</Help>}
        {scale !== null && <HeatLegend scale={scale} />}
        <span className="ml-auto">
          <IconButton
            small
            pressed={isTable}
            label={isTable ? 'Show the text' : 'Show the tokens as a table'}
            icon={<Table2 size={14} aria-hidden />}
            onClick={onTable}
          />
        </span>
      </div>
      {isTable ? <TokenTable rows={rows} present={present} /> : <TokenHeatMap rows={rows} scale={scale} />}
    </>
  )
}

/** What was asked for where it was recorded, else the first there is. */
function shownValue(colour: TokenValue | 'none', present: readonly TokenValue[]): TokenValue | null {
  if (colour === 'none') return null
  return present.includes(colour)
    ? colour
    : (present.find((value) => value === 'probability') ?? present[0] ?? null)
}

/** What the colours mean, from one end to the other. */
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
  /** Values the run recorded. */
  readonly present: readonly TokenValue[]
}

const widths: Readonly<Record<TokenValue, string>> = {
  probability: '88px',
  advantage: '84px',
  ratio: '64px',
  kl: '64px',
  entropy: '76px',
}
const order: readonly TokenValue[] = ['probability', 'advantage', 'ratio', 'kl', 'entropy']

/** The same tokens as rows of numbers, to be read and sorted. */
function TokenTable({ rows, present }: TokenTableProps) {
  const columns = useMemo((): readonly Column<TokenRow>[] => {
    const values = order
      .filter((value) => present.includes(value))
      .map((value): Column<TokenRow> => ({
        id: value,
        title: heatSpecs[value].title,
        width: widths[value],
        isNumber: true,
        cell: (row) => tokenValueText(value, row),
        sortBy: (row) => row[value],
      }))
    return [
      {
        id: 'index',
        title: '#',
        width: '52px',
        isNumber: true,
        cell: ({ index }) => index + 1,
        sortBy: ({ index }) => index,
      },
      {
        id: 'token',
        title: 'Token',
        width: 'minmax(100px,1fr)',
        cell: ({ text, isAction, id }) => (
          <code title={`Id ${String(id)}`} className={isAction ? 'text-sm' : 'text-sm text-faint'}>
            {visibleText(text)}
          </code>
        ),
      },
      ...values,
    ]
  }, [present])
  // Nobody chose the tokens of the prompt, so nothing is known of them.
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

interface RewardTermsProps {
  readonly sample: Pick<Sample, 'reward' | 'parts' | 'failures'>
  readonly weights: ReadonlyMap<string, number>
}

/** The sum that the reward is, term by term, and what went wrong in it. */
function RewardTerms({ sample: { reward, parts, failures }, weights }: RewardTermsProps) {
  const terms = rewardTerms(parts, weights)
  return (
    <>
      <table className="text-left tabular-nums">
        <thead className="sr-only">
          <tr>
            <th>Function</th>
            <th>Value</th>
            <th>Weight</th>
            <th>Share</th>
          </tr>
        </thead>
        <tbody>
          {terms.map(({ name, value, weight, share }) => (
            <tr key={name}>
              <th scope="row" className="h-6 max-w-64 min-w-28 truncate pr-6 font-normal">
                {name}
              </th>
              <td className="pr-2 text-right font-mono text-sm">
                {value === null ? 'none' : formatNumber(value)}
              </td>
              <td className="pr-6 font-mono text-sm text-muted">
                {weight === null ? '' : `× ${formatNumber(weight)}`}
              </td>
              <td className="text-right font-mono text-sm">{share === null ? '' : formatNumber(share)}</td>
            </tr>
          ))}
          <tr className="border-t border-line font-medium">
            <th scope="row" className="h-6 pr-4 font-medium">
              Reward
            </th>
            <td colSpan={3} className="text-right font-mono text-sm">
              {reward === null ? 'none' : formatNumber(reward)}
            </td>
          </tr>
        </tbody>
      </table>
      {failures.length > 0 && (
        <ul className="mt-2 flex flex-col gap-1">
          {failures.map((failure, i) => (
            <li key={`${String(i)} ${failure}`} className="flex gap-2 text-sm text-caution">
              <TriangleAlert size={13} aria-hidden className="mt-0.5 shrink-0" />
              <span className="min-w-0 break-words">{failure}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
