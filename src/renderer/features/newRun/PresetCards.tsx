import { rangeWords } from '#shared/remaining.ts'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { classes } from '#renderer/kit/classes.ts'
import { valueAt, type JsonObject } from '#shared/config/paths.ts'
import { isActive, type Preset } from './presets.ts'
import { presetSeconds, type Measured } from './presetTime.ts'

interface PresetCardsProps {
  readonly config: JsonObject
  readonly presets: readonly Preset[]
  /** What steps with this model took; null: nobody knows. */
  readonly measured: Measured | null
  readonly onChoose: (preset: Preset) => void
}

/** Places to begin, for this model and algorithm. */
export function PresetCards({ config, presets, measured, onChoose }: PresetCardsProps) {
  return (
    <div role="group" aria-label="Presets" className="grid grid-cols-3 gap-2 phone:grid-cols-1">
      {presets.map((preset) => {
        const isOn = isActive(config, preset)
        const seconds = measured === null ? null : presetSeconds(preset, measured)
        return (
          <button
            key={preset.id}
            type="button"
            aria-pressed={isOn}
            onClick={() => onChoose(preset)}
            className={classes(
              'flex flex-col rounded border px-3 py-2 text-left',
              isOn ? 'border-accent bg-accent-soft' : 'border-line hover:border-line-strong hover:bg-panel',
            )}
          >
            <span className="font-medium">{preset.title}</span>
            <span className="text-sm text-muted text-pretty">{preset.description}</span>
            <span className={classes('mt-1 text-xs tabular-nums', isOn ? 'text-muted' : 'text-faint')}>
              {presetWords(preset)}
            </span>
            {seconds !== null && (
              <span
                className="text-xs text-muted tabular-nums"
                title={`As ${measured?.source ?? ''} went; the longer time is for completions that all reach the limit.`}
              >
                about {rangeWords(seconds)} on this machine
              </span>
            )}
          </button>
        )
      })}
    </div>
  )
}

/** “10 steps · 4 × 4 · 16 tokens” */
function presetWords({ values }: Preset): string {
  const value = (key: string) => Number(values[key] ?? valueAt(values, key))
  const number = (key: string) => formatNumber(value(key))
  const batch =
    values['rollout.groupSize'] === undefined
      ? plural(value('rollout.promptsPerStep'), 'row')
      : `${number('rollout.promptsPerStep')} × ${number('rollout.groupSize')}`
  const counts = [plural(value('steps'), 'step'), batch, plural(value('rollout.maxNewTokens'), 'token')]
  return counts.join(' · ')
}
