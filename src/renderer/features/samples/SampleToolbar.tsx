import { noNumber } from '#renderer/client/format.ts'
import { ChevronLeft, ChevronRight, ListFilter } from 'lucide-react'
import { useRef } from 'react'
import { useKeys } from '#renderer/client/keys.ts'
import { setQuery } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Checkbox, Segmented } from '#renderer/kit/choices.tsx'
import { NumberInput, SearchInput, NumberField } from '#renderer/kit/inputs.tsx'
import { Popover } from '#renderer/kit/Menu.tsx'
import { filterCount, noFilter, type SampleAddress } from './address.ts'

interface Props {
  readonly run: RunEntry
  readonly address: SampleAddress
  readonly steps: readonly number[]
  /** Null if none has samples. */
  readonly step: number | null
}

type Scope = 'step' | 'range' | 'all'

/** Query of the steps shown; a range begins around the step that was shown. */
function scopeQuery(scope: Scope, shown: Props['address']['range'], step: number) {
  const [from, to] = shown === null || shown === 'all' ? [Math.max(0, step - 5), step] : shown
  const isRange = scope === 'range'
  return {
    steps: scope === 'all' ? 'all' : null,
    from: isRange ? String(from) : null,
    to: isRange ? String(to) : null,
  }
}

const RangeFields = ({ range: [from, to] }: { readonly range: readonly [number, number] }) => (
  <div className="flex grow items-center gap-2 text-muted">
    Steps
    <NumberInput
      aria-label="From step"
      value={from}
      onChange={(next) => next !== null && setQuery({ from: String(next) })}
      className="max-w-20"
    />
    to
    <NumberInput
      aria-label="To step"
      value={to}
      onChange={(next) => next !== null && setQuery({ to: String(next) })}
      className="max-w-20"
    />
  </div>
)

/** Chooses step, source and filter, all stored in the address. */
export function SampleToolbar({ run, address, steps, step }: Props) {
  const search = useRef<HTMLInputElement>(null)
  useKeys({ filter: () => search.current?.focus() })
  const { range, source, filter } = address
  const scope: Scope = range === null ? 'step' : range === 'all' ? 'all' : 'range'
  return (
    <div
      role="toolbar"
      aria-label="Samples shown"
      className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-2 border-b border-line px-4 py-2"
    >
      <Segmented
        label="Steps shown"
        value={scope}
        onChange={(next) => setQuery(scopeQuery(next, range, step ?? 0))}
        options={{ step: 'One step', range: 'Range', all: 'All steps' }}
      />
      {scope === 'step' && (
        <StepControls run={run} steps={steps} step={step} isNewest={address.step === null} />
      )}
      {range !== null && range !== 'all' && <RangeFields range={range} />}
      {scope === 'all' && <span className="grow" />}
      <Segmented
        label="Source"
        value={source}
        onChange={(next) => setQuery({ source: next === 'rollout' ? null : next, sample: null, row: null })}
        options={{ rollout: 'Rollouts', evaluation: 'Eval' }}
      />
      <span className="flex items-center gap-3">
        <SearchInput
          ref={search}
          label="Search text"
          value={filter.text}
          maxLength={200}
          onChange={(text) => setQuery({ text, sample: null })}
          className="w-44"
        />
        <FilterMenu address={address} />
      </span>
    </div>
  )
}

interface ControlProps extends Pick<Props, 'run' | 'steps' | 'step'> {
  readonly isNewest: boolean
}

function StepControls({ run, steps, step, isNewest }: ControlProps) {
  const moveTo = (next: number | null) =>
    setQuery({ step: next === null ? null : String(next), sample: null })
  const place = step === null ? -1 : steps.indexOf(step)
  const atPlace = (index: number) => steps[index]
  return (
    <div className="flex min-w-64 grow basis-76 flex-wrap items-center gap-1">
      <IconButton
        label="Previous step ( [ )"
        icon={ChevronLeft}
        iconSize={15}
        disabled={place <= 0}
        onClick={() => moveTo(atPlace(place - 1) ?? null)}
      />
      <StepScrubber steps={steps} step={step} last={run.steps} onStep={moveTo} />
      <IconButton
        label="Next step ( ] )"
        icon={ChevronRight}
        iconSize={15}
        disabled={place < 0 || place >= steps.length - 1}
        onClick={() => moveTo(atPlace(place + 1) ?? null)}
      />
      <Button small variant="quiet" aria-pressed={isNewest} disabled={isNewest} onClick={() => moveTo(null)}>
        Newest
      </Button>
    </div>
  )
}

function FilterMenu({ address: { filter } }: { address: SampleAddress }) {
  const count = filterCount(filter)
  const number = (name: string) => (value: number | null) =>
    setQuery({ [name]: value === null ? null : String(value), sample: null })
  return (
    <Popover
      label="Filter"
      trigger={
        <Button icon={ListFilter}>
          Filter
          {count > 0 && <Badge tone="accent">{count}</Badge>}
        </Button>
      }
    >
      <div className="flex flex-col gap-3">
        <div className="grid grid-cols-2 gap-3">
          <NumberField label="Reward from" value={filter.minReward} onChange={number('min')} />
          <NumberField label="Reward to" value={filter.maxReward} onChange={number('max')} />
        </div>
        <NumberField
          label="Row of the data"
          note="As Data shows it."
          value={filter.onlyRow}
          onChange={number('only')}
        />
        <Checkbox
          checked={filter.hasFailures}
          onChange={(on) => setQuery({ failures: on ? '1' : null, sample: null })}
          label="A reward function failed"
        />
        <Checkbox
          checked={filter.isCutOff}
          onChange={(on) => setQuery({ cut: on ? '1' : null, sample: null })}
          label="Truncated"
        />
        <Button disabled={count === 0} onClick={() => setQuery(noFilter)}>
          Clear filter
        </Button>
      </div>
    </Popover>
  )
}

interface StepScrubberProps {
  /** Steps with samples, in order. */
  readonly steps: readonly number[]
  readonly step: number | null
  /** Last step of the run; null: unknown. */
  readonly last: number | null
  readonly onStep: (step: number) => void
}

/** Moves through the steps with samples; the whole page follows. */
function StepScrubber({ steps, step, last, onStep }: StepScrubberProps) {
  const place = step === null ? 0 : Math.max(0, steps.indexOf(step))
  const words =
    step === null ? 'No step' : `Step ${String(step)}${last === null ? '' : ` of ${String(last)}`}`
  return (
    <>
      <input
        type="range"
        aria-label="Step"
        aria-valuetext={words}
        min={0}
        max={Math.max(0, steps.length - 1)}
        step={1}
        value={place}
        disabled={steps.length < 2}
        onChange={(event) => {
          const next = steps[Number(event.target.value)]
          if (next !== undefined) onStep(next)
        }}
        className="h-6 w-16 grow accent-accent"
      />
      <span className="min-w-24 pl-1 text-right font-medium whitespace-nowrap tabular-nums">
        {step === null ? (
          <span className="font-normal text-muted">{noNumber}</span>
        ) : (
          <>
            Step {step}
            {last !== null && <span className="font-normal text-muted">/{last}</span>}
          </>
        )}
      </span>
    </>
  )
}
