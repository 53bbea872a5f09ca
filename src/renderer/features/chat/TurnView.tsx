import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { chatGroup } from '#shared/labelGroups.ts'
import { plural } from '#renderer/client/format.ts'
import { IconButton } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { EditedText } from '#renderer/kit/EditedText.tsx'
import { CopyButton } from '#renderer/kit/states.tsx'
import { labelOf, useLabels } from '#renderer/parts/useLabels.ts'
import { AnswerView } from './AnswerView.tsx'
import type { ShownTurn } from './conversation.ts'
import type { Chat } from './useChat.ts'

interface TurnProps {
  readonly chat: Chat
  readonly turn: ShownTurn
  readonly index: number
  /** Column of the answer that the keys are about; null: it is in another turn. */
  readonly current: number | null
  readonly onCurrent: (column: number) => void
}

const grids: Readonly<Record<number, string>> = {
  1: 'grid-cols-1',
  2: 'grid-cols-2 narrow:grid-cols-1',
  3: 'grid-cols-3 narrow:grid-cols-1',
  4: 'grid-cols-2 narrow:grid-cols-1 min-[1700px]:grid-cols-4',
}

const removalWords = (later: number): string =>
  `${plural(later, 'turn')} after it ${later === 1 ? 'is' : 'are'} removed.`

/** A message and its answers side by side. */
export function TurnView({ chat, turn, index, current, onCurrent }: TurnProps) {
  const { id } = chat.conversation
  const labels = useLabels(id === null ? null : chatGroup(id, index))
  const [isEditing, setEditing] = useState(false)
  const later = chat.turns.length - index - 1
  const name = `message ${String(index + 1)}`
  return (
    <section aria-label={`Turn ${String(index + 1)}`} className="flex flex-col gap-2">
      {isEditing ? (
        <EditedText
          label={`Edit ${name}`}
          action="Answer again"
          text={turn.user}
          note={later === 0 ? null : removalWords(later)}
          onCancel={() => setEditing(false)}
          onSave={(text) => {
            setEditing(false)
            chat.send(index, text)
          }}
        />
      ) : (
        <div className="flex items-start gap-2 rounded bg-raised px-3 py-2">
          <p dir="auto" className="min-w-0 grow break-words whitespace-pre-wrap">
            <span className="sr-only">You: </span>
            {turn.user}
          </p>
          <CopyButton text={turn.user} label={`Copy ${name}`} />
          <IconButton
            small
            disabled={chat.isRunning}
            label={`Edit ${name}`}
            icon={Pencil}
            onClick={() => setEditing(true)}
          />
        </div>
      )}
      <div className={classes('grid gap-3', grids[turn.answers.length])}>
        {turn.answers.map((answer, column) => (
          <AnswerView
            key={answer?.id ?? `column ${String(column)}`}
            {...{ chat, column, answer }}
            turn={index}
            writing={turn.writing[column] ?? null}
            label={answer === null ? undefined : labelOf(labels, column, answer.text)}
            hasOthers={turn.answers.some((other, at) => at !== column && other !== null)}
            isCurrent={current === column}
            onCurrent={() => onCurrent(column)}
          />
        ))}
      </div>
    </section>
  )
}
