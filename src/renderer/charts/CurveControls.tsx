import { Segmented, Select, Slider } from '#renderer/kit/choices.tsx'
import type { CurveLook } from './curveLook.ts'
import { maxSmoothing } from './curves.ts'
import { xAxisSpecs, type XAxis } from './axes.ts'

interface ControlsProps {
  readonly look: CurveLook
  /** Axes for which the runs have the metrics. */
  readonly axes: readonly XAxis[]
  /** Smoothing used until the user chooses one. */
  readonly smoothing: number
  readonly onChange: (changes: Partial<CurveLook>) => void
}

/** Controls for x axis, smoothing and scale, the same wherever curves are shown. */
export const CurveControls = ({ look, axes, smoothing, onChange }: ControlsProps) => (
  <>
    <label className="flex items-center gap-1.5 text-sm text-muted">
      Over
      <Select
        aria-label="X axis"
        value={look.x}
        options={axes.map((value) => ({ value, label: xAxisSpecs[value].title }))}
        onChange={(x) => onChange({ x })}
      />
    </label>
    <span className="flex items-center gap-2 text-sm text-muted">
      Smoothing
      <Slider
        label="Smoothing"
        value={smoothing}
        min={0}
        max={maxSmoothing}
        step={0.01}
        onChange={(value) => onChange({ smoothing: value })}
        className="w-28"
      />
      <span className="w-8 font-mono tabular-nums">{smoothing.toFixed(2)}</span>
    </span>
    <Segmented
      label="Scale"
      value={look.scale}
      options={{ linear: 'Linear', log: 'Log' }}
      onChange={(scale) => onChange({ scale })}
    />
  </>
)
