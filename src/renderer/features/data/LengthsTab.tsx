import { useEffect, useState, useRef, type KeyboardEvent, type PointerEvent } from 'react'
import { fittingNewTokens, usualNewTokens } from '#shared/usualLength.ts'
import { useAnswer, useTask, type Answer } from '#renderer/client/api.tsx'
import { useCompletionLength } from '#renderer/features/newRun/useNewRun.ts'
import { formatCount, formatNumber, formatPercent, plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { NumberInput } from '#renderer/kit/inputs.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading, TaskProgress } from '#renderer/kit/states.tsx'
import { ModelPicker } from '#renderer/features/models/ModelPicker.tsx'
import { useSize } from '#renderer/charts/useSize.ts'
import { usePreviewModel, usePrompt, type Opened } from './usePrompt.ts'
import { cutBeyond, wholeTicks, type Bin } from './histogram.ts'
import type { PromptForm } from './preparation.ts'

type Lengths = NonNullable<Answer<'datasets.histogram'>['histogram']>

/** How long the prompts are in tokens, and how many a limit would leave out. */
export function LengthsTab({ opened }: { opened: Opened }) {
  const [model, setModel] = usePreviewModel()
  const { prompt, preparation, change } = usePrompt(opened)
  return (
    <div className="max-w-320 px-page py-4">
      <div className="mb-4 flex items-center gap-3">
        <span className="text-sm text-muted">Tokens of</span>
        <div className="w-64">
          <ModelPicker
            label="Model whose tokens are counted"
            value={model === null ? null : { model }}
            onChange={(choice) => setModel(choice.model)}
          />
        </div>
      </div>
      {model === null ? (
        <p className="text-muted">Add a model to count tokens.</p>
      ) : (
        <Measured
          key={`${model} ${JSON.stringify(prompt)}`}
          versionId={opened.version.id}
          model={model}
          prompt={prompt}
          limit={preparation.maxPromptTokens}
          onLimit={(maxPromptTokens) => change({ maxPromptTokens })}
        />
      )}
    </div>
  )
}

interface MeasuredProps {
  readonly versionId: string
  readonly model: string
  readonly prompt: PromptForm
  readonly limit: number | null
  readonly onLimit: (limit: number | null) => void
}

function Measured({ versionId, model, prompt, limit, onLimit }: MeasuredProps) {
  const { start, cancel, last, state, error } = useTask('datasets.histogram')
  // The parts above are told apart by key: model and prompt are the same for the life of this one.
  const [asked] = useState({ versionId, model, prompt })
  useEffect(() => start(asked), [start, asked])
  const { data: info } = useAnswer('models.info', { model })
  const context = info?.contextLength ?? null
  const chosen = useCompletionLength()
  const completion = chosen ?? (context === null ? usualNewTokens : fittingNewTokens(context))
  if (error !== null) return <ErrorNote error={error} />
  if (last === undefined) return <Loading label="Measuring" />
  const { histogram, progress } = last
  return (
    <div className="flex flex-col gap-4">
      {state === 'running' && <TaskProgress progress={progress} onCancel={cancel} />}
      {histogram === null ? (
        <p className="text-muted">No row has a prompt yet. See the Prompt tab.</p>
      ) : (
        <Chart
          lengths={histogram}
          limit={limit}
          onLimit={onLimit}
          context={context}
          completion={completion}
        />
      )}
    </div>
  )
}

interface ChartProps {
  readonly lengths: Lengths
  readonly limit: number | null
  readonly onLimit: (limit: number | null) => void
  /** What the model can read at most. */
  readonly context: number | null
  /** Tokens that a completion may have. */
  readonly completion: number
}

function Chart({ lengths, limit, onLimit, context, completion }: ChartProps) {
  const { rows, problems, min, mean, median, p95, max, bins } = lengths
  // While the line is dragged it is not kept yet.
  const line = limit ?? max
  const room = context === null ? Infinity : context - completion
  const cut = cutBeyond(lengths.lengths, Math.min(line, room))
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_260px] gap-8 narrow:grid-cols-[minmax(0,1fr)]">
      <figure className="min-w-0">
        <figcaption className="mb-1 text-sm text-muted">Rows by prompt length in tokens</figcaption>
        <Histogram
          label={`Prompt lengths of ${plural(rows, 'row')}: from ${formatNumber(min)} to ${formatNumber(max)} tokens, median ${formatNumber(median)}`}
          bins={bins}
          unit="tokens"
          line={line}
          onLine={(at) => onLimit(at >= max ? null : at)}
          marks={[
            { at: median, label: 'median' },
            ...(context === null ? [] : [{ at: context, label: 'context of the model' }]),
          ]}
        />
      </figure>
      <div className="flex flex-col gap-6">
        <div>
          <Field
            label="Max prompt tokens"
            help="Rows with longer prompts are left out of a run. The model must read the prompt and still have room for its completion."
            note={limit === null ? 'No limit but the model’s context.' : undefined}
            aside={
              limit !== null && (
                <Button small variant="quiet" onClick={() => onLimit(null)}>
                  No limit
                </Button>
              )
            }
          >
            {(ids) => (
              <NumberInput
                {...ids}
                value={limit}
                placeholder={formatNumber(max)}
                onChange={(value) => onLimit(value === null || value < 1 ? null : Math.round(value))}
              />
            )}
          </Field>
          <p className="mt-2 tabular-nums" role="status">
            {cut.rows === 0 ? (
              'No row is left out.'
            ) : (
              <>
                {plural(cut.rows, 'row')} left out ({formatPercent(cut.share)})
              </>
            )}
          </p>
          {context !== null && room < line && (
            <p className="mt-1 text-sm text-muted text-pretty">
              {room > 0
                ? `With completions of up to ${formatCount(completion)} tokens, the prompt may have ${formatCount(room)} of the model’s ${formatCount(context)} tokens.`
                : `Completions of up to ${formatCount(completion)} tokens, as New run has them, leave no room for a prompt.`}
            </p>
          )}
        </div>
        <KeyValue
          entries={[
            ['Rows measured', formatCount(rows)],
            ['Shortest', `${formatNumber(min)} tokens`],
            ['Mean', `${formatNumber(mean)} tokens`],
            ['Median', `${formatNumber(median)} tokens`],
            ['95 % up to', `${formatNumber(p95)} tokens`],
            ['Longest', `${formatNumber(max)} tokens`],
            ...(context === null ? [] : [['Model reads', `${formatCount(context)} tokens`] as const]),
            ...(problems === 0 ? [] : [['Without a prompt', plural(problems, 'row')] as const]),
          ]}
        />
      </div>
    </div>
  )
}

interface HistogramProps {
  readonly label: string
  readonly bins: readonly Bin[]
  /** Of the horizontal axis. */
  readonly unit: string
  /** Where the line stands that can be moved: the last value that is kept. */
  readonly line: number
  readonly onLine: (at: number) => void
  /** Lines that only tell something. */
  readonly marks?: readonly { readonly at: number; readonly label: string }[]
}

const height = 320
const left = 44
const bottom = 24
const top = 24
const right = 16
const floor = height - bottom

/** Where values and counts stand on the drawing. */
interface Scales {
  readonly from: number
  readonly to: number
  readonly most: number
  readonly width: number
  readonly x: (value: number) => number
  readonly y: (count: number) => number
  /** The value at a place. */
  readonly valueAt: (x: number) => number
}

function scalesOf(bins: readonly Bin[], width: number): Scales {
  const from = bins[0]?.from ?? 0
  const last = bins.at(-1)?.to ?? from + 1
  // Some room behind the longest, so that a line that cuts nothing can be seen.
  const to = last + Math.max(1, Math.ceil((last - from) * 0.04))
  const most = Math.max(1, ...bins.map(({ count }) => count))
  const scale = (width - left - right) / (to - from)
  return {
    from,
    to,
    most,
    width,
    x: (value) => left + (value - from) * scale,
    y: (count) => floor - (count / most) * (floor - top),
    valueAt: (x) => from + (x - left) / scale,
  }
}

/** Bars over a number axis, with a line to be dragged or moved by arrow keys. */
function Histogram(props: HistogramProps) {
  const { size, setElement } = useSize()
  return (
    <div ref={setElement} style={{ height }}>
      {size !== null && size.width > 0 && <Drawing {...props} width={size.width} />}
    </div>
  )
}

function Drawing({ width, ...props }: HistogramProps & { width: number }) {
  const { label, bins, unit, line, onLine, marks = [] } = props
  const svg = useRef<SVGSVGElement>(null)
  const scales = scalesOf(bins, width)
  const { from, to, x } = scales
  const drag = (event: PointerEvent) => {
    const box = svg.current?.getBoundingClientRect()
    if (box === undefined || event.buttons !== 1) return
    const value = Math.round(scales.valueAt(event.clientX - box.left)) - 1
    onLine(Math.min(to - 1, Math.max(from, value)))
  }
  return (
    <svg
      ref={svg}
      width={width}
      height={height}
      role="group"
      aria-label={label}
      className="block touch-none select-none"
      onPointerDown={drag}
      onPointerMove={drag}
    >
      <Axes scales={scales} />
      {bins.map((bin) => (
        <Bar key={bin.from} bin={bin} scales={scales} unit={unit} isCut={bin.from > line} />
      ))}
      {marks
        .filter(({ at }) => at >= from && at <= to)
        .map(({ at, label: name }) => (
          <g key={name}>
            <line x1={x(at)} x2={x(at)} y1={top} y2={floor} stroke="var(--muted)" strokeDasharray="2 3" />
            <text x={x(at) + 4} y={top - 6} fontSize={11} fill="var(--muted)">
              {name}
            </text>
          </g>
        ))}
      <Limit scales={scales} unit={unit} line={line} onLine={onLine} />
    </svg>
  )
}

function Axes({ scales: { from, to, most, width, x, y } }: { scales: Scales }) {
  return (
    <>
      {wholeTicks(0, most, 4).map((count) => (
        <g key={count}>
          <line x1={left} x2={width - right} y1={y(count)} y2={y(count)} stroke="var(--line)" />
          <text x={left - 6} y={y(count) + 4} textAnchor="end" fontSize={11} fill="var(--faint)">
            {formatCount(count)}
          </text>
        </g>
      ))}
      {wholeTicks(from, to, Math.max(4, Math.round(width / 90))).map((value) => (
        <text key={value} x={x(value)} y={height - 6} textAnchor="middle" fontSize={11} fill="var(--faint)">
          {formatNumber(value)}
        </text>
      ))}
    </>
  )
}

interface BarProps {
  readonly bin: Bin
  readonly scales: Scales
  readonly unit: string
  /** Behind the line. */
  readonly isCut: boolean
}

function Bar({ bin: { from, to, count }, scales: { x, y }, unit, isCut }: BarProps) {
  const words = to - from <= 1 ? formatNumber(from) : `${formatNumber(from)}–${formatNumber(to - 1)}`
  return (
    <rect
      x={x(from) + 0.5}
      y={y(count)}
      width={Math.max(1, x(to) - x(from) - 1)}
      height={floor - y(count)}
      style={{ fill: isCut ? 'var(--line-strong)' : 'color-mix(in srgb, var(--run-1) 72%, var(--bg))' }}
    >
      <title>{`${words} ${unit}: ${plural(count, 'row')}`}</title>
    </rect>
  )
}

interface LimitProps {
  readonly scales: Scales
  readonly unit: string
  readonly line: number
  readonly onLine: (at: number) => void
}

function Limit({ scales: { from, to, x }, unit, line, onLine }: LimitProps) {
  const move = (event: KeyboardEvent) => {
    const step = event.shiftKey ? Math.max(2, Math.round((to - from) / 20)) : 1
    const by = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step }[event.key]
    if (by === undefined) return
    event.preventDefault()
    onLine(Math.min(to - 1, Math.max(from, line + by)))
  }
  // What is as long as the limit stays: the line stands behind it.
  const at = x(Math.min(to, Math.max(from, line + 1)))
  return (
    <g
      role="slider"
      tabIndex={0}
      aria-label={`Max prompt ${unit}, on the axis`}
      aria-valuemin={from}
      aria-valuemax={to - 1}
      aria-valuenow={Math.min(to - 1, Math.max(from, line))}
      onKeyDown={move}
      className="cursor-ew-resize"
    >
      <rect x={at - 12} y={0} width={24} height={floor} fill="transparent" />
      <line x1={at} x2={at} y1={top - 12} y2={floor} stroke="var(--accent)" strokeWidth={2} />
      <circle cx={at} cy={top - 12} r={5} fill="var(--accent)" />
    </g>
  )
}
