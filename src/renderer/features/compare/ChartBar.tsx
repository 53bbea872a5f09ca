import { RotateCcw } from 'lucide-react'
import { Button } from '#renderer/kit/Button.tsx'
import { Checkbox, Segmented, Select } from '#renderer/kit/choices.tsx'
import { CurveControls } from '#renderer/charts/CurveControls.tsx'
import type { XAxis } from '#renderer/charts/xAxes.ts'
import { labelOf } from '#renderer/features/newRun/fieldWords.ts'
import type { CompareState } from './state.ts'

interface ChartBarProps {
  readonly state: CompareState
  /** Those that the runs have the numbers for. */
  readonly axes: readonly XAxis[]
  /** That is used where nobody has chosen. */
  readonly smoothing: number
  /** Settings the runs differ in. */
  readonly groupKeys: readonly string[]
  readonly onChange: (changes: Partial<CompareState>) => void
}

/** How the curves are looked at. */
export function ChartBar({ state, axes, smoothing, groupKeys, onChange }: ChartBarProps) {
  const groups = [
    { value: '', label: 'No grouping' },
    { value: 'seed', label: 'Group by seed' },
    ...groupKeys
      .filter((key) => key !== 'seed')
      .map((key) => ({ value: key, label: `Group by ${labelOf(key)}` })),
  ]
  return (
    <div role="toolbar" aria-label="Curves" className="flex flex-wrap items-center gap-x-3 gap-y-2">
      <CurveControls
        look={state}
        axes={axes}
        smoothing={smoothing}
        onChange={(look) => onChange(look.x === undefined ? look : { ...look, zoom: null })}
      />
      <Select
        aria-label="Group runs"
        value={state.group ?? ''}
        options={groups}
        onChange={(group) => onChange({ group: group === '' ? null : group })}
      />
      {state.group !== null && (
        <Segmented
          label="Band"
          value={state.band}
          options={[
            { value: 'range', label: 'Range' },
            { value: 'deviation', label: '±1 sd' },
          ]}
          onChange={(band) => onChange({ band })}
        />
      )}
      <Checkbox
        label={
          <span title="Resumptions, warnings and forks; checkpoints too where at most three runs are shown">
            Events
          </span>
        }
        checked={state.hasMarks}
        onChange={(hasMarks) => onChange({ hasMarks })}
      />
      <Checkbox
        label={
          <span title="A few far-off values may leave their panel, so that the others can be told apart">
            Clip spikes
          </span>
        }
        checked={state.clipsSpikes}
        onChange={(clipsSpikes) => onChange({ clipsSpikes })}
      />
      {state.zoom !== null && (
        <Button
          variant="quiet"
          icon={<RotateCcw size={13} aria-hidden />}
          onClick={() => onChange({ zoom: null })}
        >
          Whole length
        </Button>
      )}
    </div>
  )
}
