import { Pencil, Star, ThumbsDown, ThumbsUp } from 'lucide-react'
import { useKeys } from '#renderer/client/keys.ts'
import { IconButton } from '#renderer/kit/Button.tsx'
import { useLabelling, type Answered, type Label } from './useLabels.ts'

interface LabelButtonsProps {
  /** Run or conversation, or `vote`. */
  readonly scope: string
  readonly answered: Answered
  readonly label: Label | undefined
  /** Name of what wrote it, in the names of the buttons. */
  readonly title: string
  /** Prefers it to the other answers: by a button and a key, or by the key alone; null: there are no others. */
  readonly prefer: 'button' | (() => void) | null
  readonly onEdit: () => void
  /** True for the answer that the keys are about. */
  readonly hasKeys: boolean
  readonly isDisabled?: boolean
}

/** Labels an answer: good or bad, better than the others, or edited. */
export function LabelButtons(props: LabelButtonsProps) {
  const { scope, answered, label, title, prefer, onEdit, hasKeys, isDisabled = false } = props
  const { set } = useLabelling(scope)
  // What a second press takes back is decided where the labels are kept: those shown here may be a moment old.
  const rate = (rating: 'good' | 'bad') => set(answered, { changes: { rating }, isToggled: true })
  const togglePreferred = () => set(answered, { changes: { isPreferred: true }, isToggled: true })
  const preferring = prefer === 'button' ? togglePreferred : prefer
  useKeys(
    hasKeys && !isDisabled
      ? {
          rateGood: () => rate('good'),
          rateBad: () => rate('bad'),
          editAnswer: onEdit,
          ...(preferring && { prefer: preferring }),
        }
      : {},
  )
  return (
    <span className="inline-flex shrink-0 gap-x-1">
      {(['good', 'bad'] as const).map((rating) => (
        <IconButton
          key={rating}
          small
          disabled={isDisabled}
          pressed={label?.rating === rating}
          label={`${rating === 'good' ? 'Good' : 'Bad'} answer: ${title}`}
          icon={rating === 'good' ? ThumbsUp : ThumbsDown}
          onClick={() => rate(rating)}
        />
      ))}
      {prefer === 'button' && (
        <IconButton
          small
          disabled={isDisabled}
          pressed={label?.isPreferred === true}
          label={`Better than the others: ${title}`}
          icon={Star}
          onClick={togglePreferred}
        />
      )}
      <IconButton
        small
        disabled={isDisabled}
        label={`Edit the answer of ${title}`}
        icon={Pencil}
        onClick={onEdit}
      />
    </span>
  )
}
