import { X } from 'lucide-react'
import { maxColumns } from '#shared/api/chat.ts'
import { type ModelChoice, useChoiceTitle } from '#renderer/client/modelChoice.ts'
import { toast } from '#renderer/client/toasts.ts'
import { IconButton } from '#renderer/kit/Button.tsx'
import { writeChoice } from './candidates.ts'
import { ModelPicker } from './ModelPicker.tsx'

interface Props {
  readonly candidates: readonly ModelChoice[]
  /** `was`: place of each one before; null for one that is new. */
  readonly onChange: (candidates: readonly ModelChoice[], was: readonly (number | null)[]) => void
  /** Base of all of them, if they have to share it. */
  readonly on?: string | undefined
  readonly isDisabled?: boolean
}

/** Up to four models or checkpoints, each with a picker, and one that adds another. */
export function CandidatePickers({ candidates, onChange, on, isDisabled = false }: Props) {
  const titleOf = useChoiceTitle()
  const places = candidates.map((_, at) => at)
  const choose = (at: number, choice: ModelChoice) => {
    const isThere = candidates.some((each, i) => i !== at && writeChoice(each) === writeChoice(choice))
    if (isThere) toast({ title: `${titleOf(choice)} is there already.` })
    else if (at < candidates.length) onChange(candidates.with(at, choice), places)
    else onChange([...candidates, choice], [...places, null])
  }
  const remove = (at: number) => onChange(candidates.toSpliced(at, 1), places.toSpliced(at, 1))
  const shared = candidates.length > 1 ? on : undefined
  return (
    <div role="group" aria-label="Models" className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-2">
      {candidates.map((choice, at) => (
        <span key={at} className="flex min-w-0 items-center gap-1 phone:[&_span:has(>select)]:max-w-32">
          <ModelPicker
            label={candidates.length === 1 ? 'Model' : `Model ${String(at + 1)}`}
            withCheckpoints
            {...{ on: shared, isDisabled }}
            value={choice}
            onChange={(next) => choose(at, next)}
          />
          {candidates.length > 1 && (
            <IconButton
              small
              disabled={isDisabled}
              label={`Remove ${titleOf(choice)}`}
              icon={X}
              onClick={() => remove(at)}
            />
          )}
        </span>
      ))}
      {candidates.length < maxColumns && (
        <ModelPicker
          label={candidates.length === 0 ? 'Model' : 'Add a model'}
          placeholder={candidates.length === 0 ? 'Choose a model' : 'Add one to compare'}
          withCheckpoints
          {...{ on: candidates.length === 0 ? undefined : on, isDisabled }}
          value={null}
          onChange={(next) => choose(candidates.length, next)}
        />
      )}
    </div>
  )
}
