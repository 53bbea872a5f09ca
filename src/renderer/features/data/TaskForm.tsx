import { useState, type ReactNode } from 'react'
import { RewardPicker } from '#renderer/features/rewards/RewardPicker.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { NumberField } from '#renderer/kit/inputs.tsx'
import type { RewardChoice } from '#renderer/parts/rewardChoice.ts'

/** Returns another number of the form; null while it is missing. */
type ValueOf = (key: string) => number | null

/** Number that a task asks for. */
export interface Asked {
  readonly label: string
  readonly help: string
  readonly first: number
  /** Words for what `isRight` refuses. */
  readonly wrong: string | ((valueOf: ValueOf) => string)
  readonly isRight: (value: number, valueOf: ValueOf) => boolean
}

/** Whole number within limits. */
export const whole = (min: number, max: number) => (value: number) =>
  Number.isInteger(value) && value >= min && value <= max

/** Numbers as typed, their fields, and all of them as numbers; null while one is missing or wrong. */
export function useNumbers<Key extends string>(asked: Readonly<Record<Key, Asked>>) {
  const entries = Object.entries<Asked>(asked) as [Key, Asked][]
  const [values, setValues] = useState<Readonly<Record<string, number | null>>>({})
  const all: Readonly<Record<string, Asked | undefined>> = asked
  const valueOf: ValueOf = (key) => (key in values ? (values[key] ?? null) : (all[key]?.first ?? null))
  const isWrong = (key: Key): boolean => {
    const value = valueOf(key)
    return value === null || !asked[key].isRight(value, valueOf)
  }
  return {
    numbers: entries.some(([key]) => isWrong(key))
      ? null
      : (Object.fromEntries(entries.map(([key]) => [key, valueOf(key)])) as Record<Key, number>),
    fields: entries.map(([key, { label, help, wrong }]) => (
      <NumberField
        key={key}
        {...{ label, help }}
        error={isWrong(key) ? (typeof wrong === 'string' ? wrong : wrong(valueOf)) : null}
        value={valueOf(key)}
        onChange={(value) => setValues({ ...values, [key]: value })}
      />
    )),
  }
}

interface TaskFormProps {
  readonly action: string
  readonly isReady: boolean
  readonly isRunning: boolean
  readonly onStart: () => void
  readonly onCancel: () => void
  readonly rewards: readonly RewardChoice[]
  readonly onRewards: (rewards: readonly RewardChoice[]) => void
  readonly model: ReactNode
  readonly numbers: ReactNode
  readonly children?: ReactNode
  readonly note?: string
}

/** Form of a task on the rows: a model, rewards and numbers, and the button that starts or cancels it. */
export function TaskForm(props: TaskFormProps) {
  const { action, isReady, isRunning, onStart, onCancel, rewards, onRewards, note } = props
  return (
    <div className="flex min-h-0 grow flex-col">
      <div className="flex min-h-0 grow flex-col gap-4 overflow-auto py-4 pr-6 pl-page">
        {props.model}
        <div>
          <p className="flex min-h-6 items-center text-sm font-medium text-muted">Rewards</p>
          <RewardPicker value={rewards} onChange={onRewards} />
        </div>
        <div className="grid grid-cols-2 gap-3">{props.numbers}</div>
        {props.children}
      </div>
      <footer className="flex shrink-0 items-center gap-2 border-t border-line py-2 pr-6 pl-page">
        {isRunning ? (
          <Button onClick={onCancel}>Cancel</Button>
        ) : (
          <Button disabled={!isReady} onClick={onStart}>
            {action}
          </Button>
        )}
        {note !== undefined && <span className="text-sm text-faint">{note}</span>}
      </footer>
    </div>
  )
}
