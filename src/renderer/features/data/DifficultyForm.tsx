import { useState } from 'react'
import { usePreviewModel } from './usePrompt.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Field } from '#renderer/kit/Field.tsx'
import { NumberInput } from '#renderer/kit/inputs.tsx'
import { ModelPicker } from '#renderer/features/models/ModelPicker.tsx'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { RewardPicker } from '#renderer/features/rewards/RewardPicker.tsx'
import type { RewardChoice } from '#renderer/features/rewards/rewardChoice.ts'

export interface Measurement {
  readonly choice: ModelChoice
  readonly rewards: readonly RewardChoice[]
  readonly samplesPerRow: number
  readonly rows: number
  readonly sampling: { readonly temperature: number; readonly maxNewTokens: number }
}

interface DifficultyFormProps {
  /** Of the version. */
  readonly rows: number
  readonly isRunning: boolean
  readonly onMeasure: (measurement: Measurement) => void
  readonly onCancel: () => void
}

const usualRewards: readonly RewardChoice[] = [{ function: 'exact-match' }]

/** Who answers, what judges, and how much of it. */
export function DifficultyForm({ rows, isRunning, onMeasure, onCancel }: DifficultyFormProps) {
  const [usualModel] = usePreviewModel()
  const [chosen, choose] = useState<ModelChoice | null>(null)
  const choice = chosen ?? (usualModel === null ? null : { model: usualModel })
  const [rewards, setRewards] = useSetting<readonly RewardChoice[]>('data.difficulty.rewards', usualRewards)
  const [samplesPerRow, setSamples] = useState<number | null>(4)
  const [most, setMost] = useState<number | null>(Math.min(rows, 100))
  const [maxNewTokens, setMaxNewTokens] = useState<number | null>(64)
  const [temperature, setTemperature] = useState<number | null>(1)
  const isReady =
    choice !== null &&
    rewards.length > 0 &&
    isWhole(samplesPerRow, 1, 64) &&
    isWhole(most, 1, 20_000) &&
    isWhole(maxNewTokens, 1, 32_768) &&
    temperature !== null &&
    temperature > 0
  const measure = () => {
    if (!isReady) return
    onMeasure({ choice, rewards, samplesPerRow, rows: most, sampling: { temperature, maxNewTokens } })
  }
  return (
    <div className="flex min-h-0 grow flex-col">
      <div className="flex min-h-0 grow flex-col gap-4 overflow-auto py-4 pr-6 pl-page">
        <Field label="Model" help="A base model, or a checkpoint of a run to see what is still hard for it.">
          {(ids) => <ModelPicker {...ids} withCheckpoints value={choice} onChange={choose} />}
        </Field>
        <div>
          <p className="flex min-h-6 items-center text-sm font-medium text-muted">Rewards</p>
          <RewardPicker value={rewards} onChange={setRewards} />
        </div>
        <div className="grid grid-cols-2 gap-3">
          <Field
            label="Completions per row"
            help="More completions detect rarer successes."
            error={isWhole(samplesPerRow, 1, 64) ? null : '1 to 64'}
          >
            {(ids) => <NumberInput {...ids} value={samplesPerRow} onChange={setSamples} />}
          </Field>
          <Field
            label={`Sample size (of ${plural(rows, 'row')})`}
            help="Drawn by chance, the same ones every time."
            error={isWhole(most, 1, 20_000) ? null : '1 to 20 000'}
          >
            {(ids) => <NumberInput {...ids} value={most} onChange={setMost} />}
          </Field>
          <Field
            label="Max new tokens"
            help="In tokens."
            error={isWhole(maxNewTokens, 1, 32_768) ? null : '1 to 32 768'}
          >
            {(ids) => <NumberInput {...ids} value={maxNewTokens} onChange={setMaxNewTokens} />}
          </Field>
          <Field
            label="Temperature"
            help="As in the run you plan: 1 samples what the model believes."
            error={temperature !== null && temperature > 0 ? null : 'Above 0'}
          >
            {(ids) => <NumberInput {...ids} value={temperature} onChange={setTemperature} />}
          </Field>
        </div>
      </div>
      <footer className="flex shrink-0 items-center gap-2 border-t border-line py-2 pr-6 pl-page">
        {isRunning ? (
          <Button onClick={onCancel}>Cancel</Button>
        ) : (
          <Button disabled={!isReady} onClick={measure}>
            Measure
          </Button>
        )}
      </footer>
    </div>
  )
}

const isWhole = (value: number | null, min: number, max: number): value is number =>
  value !== null && Number.isInteger(value) && value >= min && value <= max
