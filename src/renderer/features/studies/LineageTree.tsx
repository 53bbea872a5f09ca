import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual'
import { Star, TriangleAlert, X } from 'lucide-react'
import { memo, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { labelOf } from '#shared/config/fields.ts'
import { metricLabel } from '#shared/metrics.ts'
import { useFront, usePointing } from '#renderer/charts/front.tsx'
import { useLatest } from '#renderer/client/api.tsx'
import { formatReward } from '#renderer/client/format.ts'
import { useRunStyles } from '#renderer/client/runs.ts'
import { focusOnceDrawn } from '#renderer/kit/scroll.ts'
import { classes } from '#renderer/kit/classes.ts'
import {
  familyOf,
  lineId,
  neighbourOf,
  stateOf,
  type Generation,
  type Lineage,
  type Place,
  type TrialState,
} from '#renderer/parts/lineage.ts'
import { changeWords, stateLooks, trialTitle } from '#renderer/parts/studyWords.ts'

export interface TreeProps {
  readonly study: StudyEntry
  readonly lineage: Lineage
  readonly onChoose: (trial: StudyTrial) => void
}

/* In px. */
const node = { width: 176, height: 26 } as const
const column = { width: node.width + 64, top: 36, left: 16 } as const
const row = 34

const topOf = (rank: number): number => column.top + rank * row
const leftOf = (generation: number): number => column.left + generation * column.width

/** Generations from left to right, best at the top; lines lead from a member to itself and to its clones. */
export function LineageTree({ study, lineage, onChoose }: TreeProps) {
  const { generations } = lineage
  const scroller = useRef<HTMLDivElement>(null)
  const pointing = usePointing()
  const front = useFront()
  const family = useMemo(() => familyOf(lineage, front), [lineage, front])
  const ranks = useMemo(() => ranksOf(generations), [generations])
  const [active, setActive] = useState<string | null>(null)
  const virtual = useVirtualizer({
    horizontal: true,
    count: generations.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => column.width,
    overscan: 1,
  })
  const entry = lineage.byKey.get(active ?? '') ?? generations[0]?.places[0]
  const focus = (place: Place) => {
    setActive(place.key)
    virtual.scrollToIndex(generations.findIndex(({ step }) => step === place.step))
    focusOnceDrawn(() => scroller.current?.querySelector(`[data-place="${CSS.escape(place.key)}"]`))
  }
  const latest = useLatest({ onChoose, setActive })
  const act = useMemo(
    () => ({
      onFocus(place: Place) {
        latest.current.setActive(place.key)
        pointing?.point(lineId(place.trial))
      },
      onPoint: (place: Place | null) => pointing?.point(place === null ? null : lineId(place.trial)),
      onChoose: (place: Place) => latest.current.onChoose(place.trial),
    }),
    [latest, pointing],
  )
  const shown = virtual.getVirtualItems()
  const height = topOf(Math.max(0, ...generations.map(({ places }) => places.length)))
  return (
    <div
      ref={scroller}
      role="tree"
      aria-label="Lineage"
      onKeyDown={keysOf({ lineage, entry, onMove: focus, onChoose })}
      className="relative min-h-0 grow overflow-auto"
    >
      <div role="presentation" style={{ width: leftOf(generations.length), height }}>
        <Edges lineage={lineage} shown={shown} ranks={ranks} family={family} height={height} />
        {shown.map(({ index }) => (
          <Column
            key={index}
            {...{ study, index, family, height, act }}
            generation={generations[index]}
            active={entry?.key ?? null}
          />
        ))}
      </div>
    </div>
  )
}

interface KeysOf extends Pick<TreeProps, 'lineage' | 'onChoose'> {
  readonly entry: Place | undefined
  readonly onMove: (place: Place) => void
}

/** Keys of the tree: arrows move among the members, Enter chooses one. */
const keysOf =
  ({ lineage, entry, onMove, onChoose }: KeysOf) =>
  (event: KeyboardEvent) => {
    if (entry === undefined) return
    if (event.key === 'Enter') onChoose(entry.trial)
    else {
      const next = neighbourOf(lineage, entry, event.key)
      if (next === null) return
      onMove(next)
    }
    event.preventDefault()
  }

const ranksOf = (generations: readonly Generation[]): ReadonlyMap<string, number> =>
  new Map(generations.flatMap(({ places }) => places.map(({ key }, rank) => [key, rank] as const)))

interface EdgesProps {
  readonly lineage: Lineage
  readonly shown: readonly VirtualItem[]
  readonly ranks: ReadonlyMap<string, number>
  /** Keys of highlighted members; null: none. */
  readonly family: ReadonlySet<string> | null
  readonly height: number
}

/** Draws a solid line where a member continues training, a dashed one to a clone. */
function Edges({ lineage: { generations }, shown, ranks, family, height }: EdgesProps) {
  const styleOf = useRunStyles()
  const columnOf = new Map(generations.map(({ step }, i) => [step, i]))
  // One more generation for the lines that leave the last one.
  const last = Math.min(generations.length - 1, (shown.at(-1)?.index ?? -1) + 1)
  const places = generations.slice(shown[0]?.index ?? 0, last + 1).flatMap((each) => each.places)
  const middle = node.height / 2
  return (
    <svg aria-hidden width={leftOf(generations.length)} height={height} className="absolute top-0 left-0">
      {places.map(({ key, from, trial, step }) => {
        if (from === null) return null
        const isOn = family === null || (family.has(key) && family.has(from.key))
        const [x1, y1] = [
          leftOf(columnOf.get(from.step) ?? 0) + node.width,
          topOf(ranks.get(from.key) ?? 0) + middle,
        ]
        const [x2, y2] = [leftOf(columnOf.get(step) ?? 0), topOf(ranks.get(key) ?? 0) + middle]
        const bend = (x2 - x1) / 2
        return (
          <path
            key={key}
            d={`M${String(x1)} ${String(y1)}C${String(x1 + bend)} ${String(y1)} ${String(x2 - bend)} ${String(y2)} ${String(x2)} ${String(y2)}`}
            fill="none"
            stroke={isOn ? styleOf(trial.runId ?? '').color : 'var(--line)'}
            strokeWidth={isOn && family !== null ? 2.5 : 1.5}
            {...(from.trial === trial ? {} : { strokeDasharray: '5 3' })}
          />
        )
      })}
    </svg>
  )
}

interface Acts {
  readonly onFocus: (place: Place) => void
  readonly onPoint: (place: Place | null) => void
  readonly onChoose: (place: Place) => void
}

interface ColumnProps {
  readonly study: StudyEntry
  readonly generation: Generation | undefined
  readonly index: number
  /** Key of the member that Tab leads to. */
  readonly active: string | null
  readonly family: ReadonlySet<string> | null
  readonly height: number
  readonly act: Acts
}

function Column({ study, generation, index, active, family, height, act }: ColumnProps) {
  const styleOf = useRunStyles()
  if (generation === undefined) return null
  const { step, places } = generation
  const name = `Generation ${String(index + 1)}`
  return (
    <div
      role="group"
      aria-label={`${name}, step ${String(step)}`}
      className="absolute top-0"
      style={{ left: leftOf(index), width: node.width, height }}
    >
      <p aria-hidden className="sticky top-0 z-10 truncate bg-bg py-1.5 text-sm text-muted">
        {name} <span className="text-faint">step {step}</span>
      </p>
      {places.map((place, rank) => (
        <Node
          key={place.key}
          {...{ place, rank, act }}
          count={places.length}
          level={index + 1}
          color={styleOf(place.trial.runId ?? '').color}
          number={place.trial.member + 1}
          label={labelOfPlace(study, place)}
          state={place.next.length === 0 ? stateOf(place.trial, study) : null}
          isBest={study.best?.trial === place.trial.index && study.best.step === step}
          isActive={place.key === active}
          isFaded={family !== null && !family.has(place.key)}
        />
      ))}
    </div>
  )
}

/** Describes a member in one sentence for screen readers. */
function labelOfPlace(study: StudyEntry, { trial, step, result, from, next }: Place): string {
  const came =
    result === undefined
      ? 'not evaluated yet'
      : `${metricLabel(study.search.fitness.metric)} ${formatReward(result.fitness)}`
  const isClone = from !== null && from.trial !== trial
  const origin = isClone ? [`cloned from ${trialTitle(study, from.trial)}`] : []
  const change = isClone && trial.mutation !== null ? [`mutated ${changeWords(trial.mutation)}`] : []
  const clones = next.filter((each) => each.trial !== trial)
  const on = next.length > clones.length ? ['trains on'] : []
  const children =
    clones.length === 0
      ? []
      : [`cloned into ${clones.map((each) => trialTitle(study, each.trial)).join(', ')}`]
  const end = next.length === 0 ? [stateLooks[stateOf(trial, study)].words.toLowerCase()] : []
  return [
    `${trialTitle(study, trial)} at step ${String(step)}: ${came}`,
    ...[...origin, ...change, ...on, ...children, ...end],
  ].join(', ')
}

interface NodeProps {
  readonly place: Place
  readonly rank: number
  readonly count: number
  readonly level: number
  readonly color: string
  readonly number: number
  readonly label: string
  /** Null while it continues. */
  readonly state: TrialState | null
  readonly isBest: boolean
  readonly isActive: boolean
  readonly isFaded: boolean
  readonly act: Acts
}

const Node = memo(function Node(props: NodeProps) {
  const { place, rank, count, level, color, number, label, state, isBest, isActive, isFaded, act } = props
  const { key, trial, result, from } = place
  const mutation = from !== null && from.trial !== trial ? trial.mutation : null
  return (
    <div
      role="treeitem"
      data-place={key}
      aria-level={level}
      aria-posinset={rank + 1}
      aria-setsize={count}
      aria-selected={isActive}
      tabIndex={isActive ? 0 : -1}
      title={label}
      onFocus={() => act.onFocus(place)}
      onBlur={() => act.onPoint(null)}
      onPointerEnter={() => act.onPoint(place)}
      onPointerLeave={() => act.onPoint(null)}
      onClick={() => act.onChoose(place)}
      className={classes(
        'absolute inset-x-0 flex cursor-pointer items-center gap-1.5 rounded border bg-bg px-2 text-sm hover:bg-raised',
        state === 'ended' || state === 'failed' ? 'border-dashed' : '',
        isBest ? 'border-accent' : 'border-line-strong',
        isFaded && 'opacity-40',
      )}
      style={{ top: topOf(rank), height: node.height }}
    >
      <span className="sr-only">{label}</span>
      <span aria-hidden className="size-2 shrink-0 rounded-full" style={{ background: color }} />
      <span aria-hidden className={classes('shrink-0', isBest && 'font-semibold')}>
        {number}
      </span>
      <span aria-hidden className="min-w-0 grow truncate text-xs text-muted">
        {mutation !== null && `${labelOf(mutation.key)} ${mutation.to > mutation.from ? '↑' : '↓'}`}
      </span>
      {isBest && <Star size={12} aria-hidden className="shrink-0 text-accent-ink" />}
      {state === 'ended' && <X size={12} aria-hidden className="shrink-0 text-faint" />}
      {state === 'failed' && <TriangleAlert size={12} aria-hidden className="shrink-0 text-bad" />}
      <span aria-hidden className="shrink-0 font-mono tabular-nums">
        {result === undefined ? '…' : formatReward(result.fitness)}
      </span>
    </div>
  )
})
