import { ChevronLeft, ChevronRight, SlidersHorizontal } from 'lucide-react'
import type { RewardBench } from './useRewards.ts'
import { formatCount } from '#renderer/client/format.ts'
import { link } from '#renderer/client/route.ts'
import { IconButton } from '#renderer/kit/Button.tsx'
import { Select, SelectField } from '#renderer/kit/choices.tsx'
import { TextArea, TextField, AreaField } from '#renderer/kit/inputs.tsx'
import { Popover } from '#renderer/kit/Menu.tsx'
import { Loading } from '#renderer/kit/states.tsx'
import { cellText, parseRow } from './bench.ts'
import { CompletionSource, PromptSource } from './SampleSource.tsx'

interface RowsPaneProps {
  readonly bench: RewardBench
  readonly models: readonly string[]
  /** True for environments, which start from rows and have no completions to score. */
  readonly isEnvironment: boolean
}

const byHand = 'by-hand'

/** Chooses the rows to try a reward on, and the source of their completions. */
export function RowsPane({ bench: own, models, isEnvironment }: RowsPaneProps) {
  const { bench, change, dataSets } = own
  const options = dataSetOptions(dataSets)
  return (
    <section aria-label="Rows" className="flex min-h-0 min-w-0 grow flex-col">
      <div className="flex min-h-9 shrink-0 flex-wrap items-center gap-1 border-b border-line pr-2 pl-3">
        <Select
          small
          aria-label="Data set"
          className="min-w-0 shrink"
          value={bench.versionId ?? byHand}
          options={[...options, { value: byHand, label: 'A sample by hand' }]}
          onChange={(id) =>
            change({ versionId: id === byHand ? null : id, from: 0, prompt: null, column: null })
          }
        />
        {bench.versionId !== null && <Pager own={own} />}
      </div>
      {bench.versionId === null ? (
        <HandForm own={own} hasData={options.length > 0} isEnvironment={isEnvironment} />
      ) : (
        <>
          {!isEnvironment && (
            <div className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-3 py-2 text-sm">
              <CompletionSource own={own} models={models} />
            </div>
          )}
          <RowList own={own} isEnvironment={isEnvironment} />
        </>
      )}
    </section>
  )
}

/** Returns readable versions; the newest is named by its data set alone. */
export const dataSetOptions = (dataSets: RewardBench['dataSets']) =>
  dataSets.flatMap(({ name, versions }) =>
    versions.flatMap(({ id, unusable }, i) =>
      unusable === null
        ? [{ value: id, label: i === 0 ? name : `${name} · version ${String(versions.length - i)}` }]
        : [],
    ),
  )

const counts = ['10', '20', '50', '100', '200'] as const

function Pager({ own: { bench, change, version } }: { own: RewardBench }) {
  const total = version?.rows ?? 0
  const { from, count } = bench
  const last = Math.min(total, from + count)
  return (
    <>
      <span className="ml-auto text-sm whitespace-nowrap text-muted tabular-nums">
        {formatCount(from + 1)}–{formatCount(last)} of {formatCount(total)}
      </span>
      <IconButton
        small
        label="Rows before"
        icon={ChevronLeft}
        iconSize={14}
        disabled={from === 0}
        onClick={() => change({ from: Math.max(0, from - count) })}
      />
      <IconButton
        small
        label="Rows after"
        icon={ChevronRight}
        iconSize={14}
        disabled={last >= total}
        onClick={() => change({ from: from + count })}
      />
      <Popover
        label="Rows and prompts"
        width={320}
        trigger={<IconButton small label="Rows and prompts" icon={SlidersHorizontal} iconSize={14} />}
      >
        <div className="flex flex-col gap-3">
          <SelectField
            label="Rows at once"
            value={String(count) as (typeof counts)[number]}
            options={counts}
            onChange={(value) =>
              change({ count: Number(value), from: Math.floor(from / Number(value)) * Number(value) })
            }
          />
          <PromptSource
            bench={bench}
            columns={version?.columns ?? []}
            onChange={(prompt) => change({ prompt })}
          />
        </div>
      </Popover>
    </>
  )
}

function RowList({ own, isEnvironment }: { own: RewardBench; isEnvironment: boolean }) {
  const { bench, shown, problems, isShownLoaded } = own
  if (!isShownLoaded) return <Loading label="Reading rows" shape="table" />
  return (
    <ol className="min-h-0 grow overflow-auto" aria-label="Rows of the data set" tabIndex={0}>
      {shown.rows.map((row, i) => (
        <RowItem
          key={bench.from + i}
          {...{ row, own, isEnvironment }}
          number={bench.from + i}
          prompt={shown.prompts[i] ?? null}
          problem={problems[i] ?? null}
        />
      ))}
    </ol>
  )
}

interface RowItemProps {
  readonly number: number
  readonly row: Readonly<Record<string, unknown>>
  readonly prompt: string | null
  readonly problem: string | null
  readonly own: RewardBench
  readonly isEnvironment: boolean
}

function RowItem({ number, row, prompt, problem, own, isEnvironment }: RowItemProps) {
  const { bench, shown, type } = own
  const isColumnShown = bench.completions === 'column' && bench.column !== null && !isEnvironment
  const others = Object.entries(row).filter(([name]) => !isPrompt(bench.prompt, name))
  return (
    <li className="flex gap-2 border-b border-line px-3 py-2 text-sm">
      <span className="w-6 shrink-0 text-right font-mono text-xs leading-[18px] text-faint tabular-nums">
        {number + 1}
      </span>
      <div className="min-w-0 grow">
        {problem === null ? (
          <p dir="auto" className="line-clamp-3 break-words whitespace-pre-wrap">
            {prompt ?? ''}
          </p>
        ) : (
          <p className="text-bad">{problem}</p>
        )}
        {others.length > 0 && (
          <dl className="mt-1 flex flex-wrap gap-x-3 gap-y-0.5 text-xs">
            {others.map(([name, value]) => (
              <div key={name} className="flex min-w-0 gap-1">
                <dt className={isColumnShown && name === bench.column ? 'text-accent-ink' : 'text-faint'}>
                  {name}
                </dt>
                <dd dir="auto" className="line-clamp-2 min-w-0 font-mono break-words">
                  {cellText(value)}
                </dd>
              </div>
            ))}
          </dl>
        )}
        {bench.completions === 'typed' && !isEnvironment && (
          <TextArea
            mono
            rows={1}
            aria-label={`Completion of row ${String(number + 1)}`}
            placeholder="Completion"
            className="mt-1 field-sizing-content resize-none max-h-40 min-h-7"
            value={shown.typed[number] ?? ''}
            onChange={(text) => type(number, text === '' ? null : text)}
          />
        )}
      </div>
    </li>
  )
}

const isPrompt = (form: Readonly<Record<string, unknown>>, name: string): boolean => form['column'] === name

function HandForm({
  own,
  hasData,
  isEnvironment,
}: {
  own: RewardBench
  hasData: boolean
  isEnvironment: boolean
}) {
  const { hand, setHand } = own
  return (
    <div className="flex min-h-0 grow flex-col gap-2 overflow-auto p-3">
      {!isEnvironment && (
        <>
          <TextField label="Prompt" value={hand.prompt} onChange={(prompt) => setHand({ ...hand, prompt })} />
          <AreaField
            label="Completion"
            help="The completion to score."
            mono
            rows={3}
            value={hand.completion}
            onChange={(completion) => setHand({ ...hand, completion })}
          />
        </>
      )}
      <AreaField
        label="Row"
        help="Columns of the data set as JSON; the code gets them as row."
        error={parseRow(hand.row) === null ? 'This is not a JSON object.' : null}
        mono
        rows={3}
        value={hand.row}
        onChange={(row) => setHand({ ...hand, row })}
      />
      {!hasData && (
        <p className="mt-1 text-sm text-muted">
          With a data set, the editor knows its columns and a dry run scores many rows.{' '}
          <a className="text-accent-ink underline" href={link('/data')}>
            Add data
          </a>
        </p>
      )}
    </div>
  )
}
