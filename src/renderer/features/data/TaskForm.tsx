import type { ReactNode } from 'react'
import { RewardPicker } from '#renderer/features/rewards/RewardPicker.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import type { RewardChoice } from '#renderer/parts/rewardChoice.ts'

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

/** Form of a task on the rows: a model, rewards and settings, and the button that starts or cancels it. */
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
