import { RotateCcw } from 'lucide-react'
import { Slider } from '#renderer/kit/choices.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { IconButton } from '#renderer/kit/Button.tsx'
import { NumberInput } from '#renderer/kit/inputs.tsx'
import { KeyValue } from '#renderer/kit/Page.tsx'
import { SettingRow } from '#renderer/kit/SettingRow.tsx'
import { Loading } from '#renderer/kit/states.tsx'
import { Help } from '#renderer/kit/Tooltip.tsx'
import { rangeWords, type SettingField } from '#shared/config/fields.ts'
import { settingName, type LossCheck, type LossState } from './useLoss.ts'

/** Adjustable settings of a loss, and its description. */
export function LossPane({ state }: { state: LossState }) {
  const { check, fields, values, setValues } = state
  if (check === undefined) return <Loading label="Reading the code" />
  return (
    <div className="min-h-0 grow overflow-auto">
      {fields.length > 0 && (
        <section aria-label="Settings" className="border-b border-line px-4 pt-2 pb-3">
          <h2 className="flex h-7 items-center font-medium">
            Settings
            <Help about="settings">
              The code declares them with their defaults and limits. Changes here redraw the curves and are
              checked; a run sets its own.
            </Help>
          </h2>
          <div className="grid grid-cols-[repeat(auto-fill,minmax(210px,1fr))] gap-x-6 gap-y-2">
            {fields.map((field) => {
              const name = settingName(field)
              const { [name]: given, ...others } = values
              const set = (value: unknown) =>
                setValues(
                  value === undefined || value === field.default ? others : { ...others, [name]: value },
                )
              return <TriedSetting key={field.key} field={field} given={given} onChange={set} />
            })}
          </div>
        </section>
      )}
      <section aria-label="About this loss" className="px-4 py-3">
        <KeyValue entries={factsOf(check)} />
      </section>
    </div>
  )
}

interface TriedSettingProps {
  readonly field: SettingField
  /** Undefined: its default. */
  readonly given: unknown
  readonly onChange: (value: unknown) => void
}

function TriedSetting({ field, given, onChange }: TriedSettingProps) {
  const { control, label, help } = field
  const value = given ?? field.default
  const isChanged = given !== undefined
  if (control.kind !== 'number' || typeof value !== 'number')
    return (
      <SettingRow
        {...{ field, value, isChanged, onChange }}
        base={field.default}
        onReset={() => onChange(undefined)}
      />
    )
  const [low, high] = sliderRange(field)
  return (
    <Field
      label={label}
      help={`${help} ${rangeWords(control)}`}
      aside={
        isChanged && (
          <IconButton
            small
            label={`Reset ${label} to ${String(field.default)}`}
            icon={RotateCcw}
            iconSize={12}
            onClick={() => onChange(undefined)}
          />
        )
      }
    >
      {(ids) => (
        <span className="flex items-center gap-3">
          <Slider
            label={`${label}, on its range`}
            value={Math.min(high, Math.max(low, value))}
            min={low}
            max={high}
            step={control.isInteger ? 1 : (high - low) / 200}
            onChange={(next) => onChange(Number(next.toPrecision(4)))}
            className="grow"
          />
          <span className="w-20 shrink-0">
            <NumberInput {...ids} value={value} onChange={(next) => onChange(next ?? undefined)} />
          </span>
        </span>
      )}
    </Field>
  )
}

/** Returns the range of a slider: declared limits, else values around the default. */
function sliderRange({ control, default: defaultValue }: SettingField): readonly [number, number] {
  if (control.kind !== 'number') return [0, 1]
  const size = Math.abs(Number(defaultValue ?? 0))
  const reach = size === 0 ? 1 : 5 * size
  const [from, to] = [control.from?.value ?? -Infinity, control.to?.value ?? Infinity]
  const low = from > -1e5 ? from : -reach
  return [low, to < 1e5 ? to : Math.max(reach, low + 1e-6)]
}

const experiences = {
  rollout: 'rewards of its own completions',
  demonstrations: 'given answers',
  preferences: 'pairs of a chosen and a rejected answer',
} as const

function factsOf({ description, recorded }: LossCheck): readonly (readonly [string, string])[] {
  if (description === null) return [['Code', 'does not load']]
  const { title, experience, advantages, groupSize, source } = description
  const facts: (readonly [string, string])[] = [
    ['Title', title ?? 'none'],
    ['Learns from', experiences[experience]],
    ['Advantages', advantages],
  ]
  if (experience === 'rollout') facts.push(['Completions per prompt', String(groupSize)])
  if (recorded !== null) {
    facts.push(['Needs', recorded.needs.join(', ') || 'nothing else'])
    facts.push(['Operations', String(recorded.operations)])
    facts.push(['Metrics', recorded.metrics.join(', ') || 'none of its own'])
  }
  if (source !== '') facts.push(['Paper', source])
  return facts
}
