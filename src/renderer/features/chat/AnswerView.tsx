import { RotateCcw, WholeWord } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useApi } from '#renderer/client/api.tsx'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { useChoiceTitle } from '#renderer/client/modelChoice.ts'
import { endWords } from '#renderer/client/words.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { EditedText } from '#renderer/kit/EditedText.tsx'
import { Busy, CopyButton, ErrorNote } from '#renderer/kit/states.tsx'
import { LabelButtons } from '#renderer/parts/LabelButtons.tsx'
import { useLabelling, type Label } from '#renderer/parts/useLabels.ts'
import { AnswerTokens } from './AnswerTokens.tsx'
import { choiceOf, type ChatAnswer, type Writing } from './conversation.ts'
import type { Chat } from './useChat.ts'

interface AnswerProps {
  readonly chat: Chat
  readonly turn: number
  readonly column: number
  readonly answer: ChatAnswer | null
  readonly writing: Writing | null
  readonly label: Label | undefined
  /** True if another model answered the message too. */
  readonly hasOthers: boolean
  /** True for the answer that the keys of labels are about. */
  readonly isCurrent: boolean
  readonly onCurrent: () => void
}

/** One column's answer to a message. */
export function AnswerView(props: AnswerProps) {
  const { chat, turn, column, answer, writing, isCurrent, onCurrent } = props
  const place = useRef<HTMLElement>(null)
  useEffect(() => {
    if (isCurrent) place.current?.scrollIntoView({ block: 'nearest' })
  }, [isCurrent])
  const titleOf = useChoiceTitle()
  const title = titleOf(answer?.by ?? choiceOf(chat.conversation, column))
  return (
    <article
      ref={place}
      aria-label={`Answer of ${title}`}
      aria-current={isCurrent}
      onFocus={onCurrent}
      onPointerDown={onCurrent}
      className={classes('flex min-w-0 flex-col rounded border', isCurrent ? 'border-accent' : 'border-line')}
    >
      <h2 className="truncate border-b border-line px-3 py-1 text-sm text-muted">{title}</h2>
      {writing !== null ? (
        <WritingBody writing={writing} isRunning={chat.isRunning} />
      ) : answer === null ? (
        <p className="flex items-center gap-2 p-3 text-faint">
          Not answered.
          <Button small disabled={chat.isRunning} onClick={() => chat.send(turn, null, [column])}>
            Answer
          </Button>
        </p>
      ) : (
        <AnswerBody {...props} answer={answer} title={title} />
      )}
    </article>
  )
}

const prose = 'p-3 break-words whitespace-pre-wrap'

function WritingBody({ writing, isRunning }: { writing: Writing; isRunning: boolean }) {
  const { text, tokens, hasBegun } = writing
  if (text === '') return <Busy label={hasBegun ? 'Writing' : 'Preparing the answer'} />
  return (
    <>
      <p dir="auto" className={prose}>
        {text}
        {isRunning && (
          <span aria-hidden className="ml-0.5 inline-block h-[1em] w-1.5 translate-y-0.5 bg-accent" />
        )}
      </p>
      <footer className="px-3 pb-2 text-sm text-muted tabular-nums">{plural(tokens, 'token')}</footer>
    </>
  )
}

interface BodyProps extends Omit<AnswerProps, 'writing'> {
  readonly answer: ChatAnswer
  readonly title: string
}

type View = 'text' | 'tokens' | 'edit'

interface ButtonsProps extends BodyProps {
  readonly view: View
  readonly onView: (view: View) => void
}

function AnswerButtons(props: ButtonsProps) {
  const { chat, turn, column, answer, label, hasOthers, isCurrent, title, view, onView } = props
  const later = chat.turns.length - turn - 1
  const again =
    later === 0 ? `Answer again: ${title}` : `Answer again: ${title}; ${plural(later, 'later turn')} removed`
  const { id } = chat.conversation
  return (
    <>
      {id !== null && (
        <LabelButtons
          scope={id}
          answered={{ kind: 'chat', id, turn, column }}
          {...{ label, title }}
          prefer={hasOthers ? 'button' : null}
          hasKeys={isCurrent}
          isDisabled={chat.isRunning}
          onEdit={() => onView('edit')}
        />
      )}
      {answer.tokens > 0 && (
        <IconButton
          small
          pressed={view === 'tokens'}
          label={`Token probabilities: ${title}`}
          icon={WholeWord}
          iconSize={14}
          onClick={() => onView('tokens')}
        />
      )}
      <IconButton
        small
        disabled={chat.isRunning}
        label={again}
        icon={RotateCcw}
        onClick={() => chat.send(turn, null, [column])}
      />
      <CopyButton text={answer.text} label={`Copy the answer of ${title}`} />
    </>
  )
}

const AnswerText = ({ answer }: { answer: ChatAnswer }) => (
  <p dir="auto" className={prose}>
    {answer.text}
    {answer.text === '' && answer.calls.length === 0 && <span className="text-faint">(empty answer)</span>}
    {answer.calls.map((call, number) => (
      <span key={number} className="block">
        <span className="text-muted">calls </span>
        <code>{`${call.name}(${call.arguments})`}</code>
      </span>
    ))}
  </p>
)

function AnswerBody(props: BodyProps) {
  const { chat, turn, column, answer, title } = props
  const [view, setView] = useState<View>('text')
  const client = useApi()
  const { id } = chat.conversation
  const { change } = useLabelling(id ?? '')
  const edit = (text: string) => {
    setView('text')
    if (id === null || text === answer.text) return
    const write = (written: string) => client.call('chat.editAnswer', { id, turn, column, text: written })
    change(async () => {
      await write(text)
      return () => write(answer.text)
    })
  }
  const toggle = (other: View) => setView(view === other ? 'text' : other)
  return (
    <>
      {answer.error !== null ? (
        <ErrorNote error={answer.error} className="m-3" />
      ) : view === 'tokens' && id !== null ? (
        <AnswerTokens id={id} answerId={answer.id} />
      ) : view === 'edit' ? (
        <div className="p-3">
          <EditedText
            label={`Edit the answer of ${title}`}
            action="Save"
            text={answer.text}
            note="For pairs, it is better than what the model wrote."
            onCancel={() => setView('text')}
            onSave={edit}
          />
        </div>
      ) : (
        <AnswerText answer={answer} />
      )}
      <footer className="mt-auto flex flex-wrap items-center gap-1 px-3 pb-1.5 text-sm text-muted tabular-nums">
        <span className="min-w-0">{answerFacts(answer)}</span>
        <span className="ml-auto inline-flex gap-1">
          <AnswerButtons {...props} view={view} onView={toggle} />
        </span>
      </footer>
    </>
  )
}

/** Formats “12 tokens · 48 tokens/s · stopped (EOS) · seed 7”. */
function answerFacts({ tokens, tokensPerSecond, stopReason, seed }: ChatAnswer): string {
  if (stopReason === 'edited') return endWords(stopReason)
  const facts = [
    plural(tokens, 'token'),
    tokensPerSecond !== null && `${formatNumber(tokensPerSecond)} tokens/s`,
    endWords(stopReason),
    `seed ${String(seed)}`,
  ]
  return facts.filter(Boolean).join(' · ')
}
