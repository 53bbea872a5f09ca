import { useMemo } from 'react'
import { FunctionChart, type FunctionLine } from '#renderer/charts/FunctionChart.tsx'
import { LineMark } from '#renderer/charts/marks.tsx'
import { algorithmTitle, isFile, useRunSettings } from '#renderer/client/runSettings.ts'
import { Select } from '#renderer/kit/choices.tsx'
import { ErrorNote, EmptyState, Loading } from '#renderer/kit/states.tsx'
import { failureWords } from './results.ts'
import type { LossDrawing, LossState } from './useLoss.ts'

/** Loss and gradient of one token as the policy moves away from the one that generated it. */
export function CurvesTab({ state }: { state: LossState }) {
  const { check, drawing, error, isStale } = state
  if (check?.problem != null)
    return <EmptyState title="Nothing to draw yet.">{failureWords(check.problem)}</EmptyState>
  if (error !== null) return <ErrorNote error={error} className="m-4" />
  if (drawing === null) return <Loading label="Drawing" />
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Toolbar state={state} drawing={drawing} />
      <Panels drawing={drawing} compare={state.axis.compare} isStale={isStale} />
    </div>
  )
}

const axisWords = {
  ratio: { label: 'Importance ratio', mark: { at: 1, label: 'as generated' } },
  margin: { label: 'Margin of the chosen answer (nats)', mark: { at: 0, label: 'as the reference' } },
  logp: { label: 'Log-probability (nats)', mark: null },
} as const

const curveLooks = {
  positive: { label: 'Advantage +1', color: 'var(--run-1)' },
  negative: { label: 'Advantage −1', color: 'var(--run-2)' },
  chosen: { label: 'Chosen answer', color: 'var(--run-1)' },
  rejected: { label: 'Rejected answer', color: 'var(--run-2)' },
  token: { label: 'Given token', color: 'var(--run-1)' },
} as const

const comparedDash = '5 4'

interface PanelsProps {
  readonly drawing: LossDrawing
  readonly compare: string | null
  readonly isStale: boolean
}

function Panels({ drawing, compare, isStale }: PanelsProps) {
  const { axis, points } = drawing
  const title = useAlgorithmTitle(compare)
  const lines = useMemo(
    () => ({ loss: linesOf(drawing, 'loss', title), gradient: linesOf(drawing, 'gradient', title) }),
    [drawing, title],
  )
  const { label: xLabel, mark } = axisWords[axis]
  return (
    <div
      className={`grid min-h-0 grow grid-cols-2 gap-2 overflow-auto py-2 transition-opacity narrow:grid-cols-1 ${isStale ? 'opacity-60' : ''}`}
    >
      <FunctionChart
        title="Loss"
        {...{ xLabel, points, mark }}
        // Both answers share one loss.
        lines={axis === 'margin' ? lines.loss.filter(({ id }) => !id.startsWith('rejected')) : lines.loss}
        syncId="loss"
      />
      <FunctionChart
        title="Gradient: dLoss/dlogp"
        {...{ xLabel, points, mark }}
        lines={lines.gradient}
        syncId="loss"
      />
    </div>
  )
}

function linesOf(
  { curves, compared }: LossDrawing,
  panel: 'loss' | 'gradient',
  title: string,
): readonly FunctionLine[] {
  const own = curves.map((curve) => ({ id: curve.of, ...curveLooks[curve.of], values: curve[panel] }))
  const others = (compared ?? []).map((curve) => {
    const { label, color } = curveLooks[curve.of]
    return {
      id: `${curve.of} compared`,
      label: `${title}, ${label.toLowerCase()}`,
      color,
      dash: comparedDash,
      values: curve[panel],
    }
  })
  return [...own, ...others]
}

function useAlgorithmTitle(id: string | null): string {
  const algorithms = useRunSettings()?.algorithms ?? []
  return algorithmTitle(id ?? '', algorithms)
}

type Ends = readonly [number, number]
const ranges: Readonly<Record<LossState['experience'], readonly Ends[]>> = {
  rollout: [
    [0, 2],
    [0.5, 1.5],
    [0, 5],
    [0, 20],
  ],
  preferences: [
    [-10, 10],
    [-3, 3],
    [-50, 50],
  ],
  demonstrations: [
    [-8, 0],
    [-30, 0],
  ],
}

function Toolbar({ state, drawing }: { state: LossState; drawing: LossDrawing }) {
  const { axis, setAxis, experience } = state
  const algorithms = useRunSettings()?.algorithms ?? []
  const alike = algorithms.filter(({ id, experience: from }) => from === experience && !isFile(id))
  const compare = alike.some(({ id }) => id === axis.compare) ? axis.compare : null
  const words = ([from, to]: Ends) => `${String(from).replace('-', '−')} to ${String(to)}`
  const defaultRange = ranges[experience][0] ?? [0, 2]
  return (
    <div className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-1 text-sm text-muted">
      <ul aria-label="Lines" className="flex flex-wrap gap-x-4">
        {drawing.curves.map(({ of }) => (
          <li key={of} className="flex items-center gap-1.5">
            <LineMark color={curveLooks[of].color} />
            {curveLooks[of].label}
          </li>
        ))}
        {drawing.compared !== null && (
          <li className="flex items-center gap-1.5">
            <LineMark color="var(--muted)" dash={comparedDash} />
            <ComparedTitle id={compare} />
          </li>
        )}
      </ul>
      <label className="ml-auto flex items-center gap-1.5">
        Compare with
        <Select
          small
          value={compare ?? ''}
          options={[
            { value: '', label: 'nothing' },
            ...alike.map(({ id, title }) => ({ value: id, label: title })),
          ]}
          onChange={(id) => setAxis({ ...axis, compare: id === '' ? null : id })}
        />
      </label>
      <label className="flex items-center gap-1.5">
        From
        <Select
          small
          value={words(axis[experience] ?? defaultRange)}
          options={ranges[experience].map((ends) => ({ value: words(ends), label: words(ends) }))}
          onChange={(value) => {
            const ends = ranges[experience].find((each) => words(each) === value) ?? defaultRange
            setAxis({ ...axis, [experience]: ends })
          }}
        />
      </label>
    </div>
  )
}

const ComparedTitle = ({ id }: { id: string | null }) => <>{useAlgorithmTitle(id)}, built in</>
