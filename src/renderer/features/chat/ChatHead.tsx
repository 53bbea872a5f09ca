import { SlidersHorizontal } from 'lucide-react'
import type { ComponentProps } from 'react'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { formatBytes, formatCount, lastPart } from '#renderer/client/format.ts'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { ErrorNote, Progress, Skeleton } from '#renderer/kit/states.tsx'
import { Tooltip } from '#renderer/kit/Tooltip.tsx'
import { CandidatePickers } from '#renderer/parts/CandidatePickers.tsx'
import { ChatSettings } from './ChatSettings.tsx'
import { usedTokens } from './conversation.ts'
import type { Chat } from './useChat.ts'

export interface HeadProps {
  readonly chat: Chat
  readonly candidates: readonly ModelChoice[]
  readonly onCandidates: ComponentProps<typeof CandidatePickers>['onChange']
  readonly hasSettings: boolean
  readonly onSettings: (hasSettings: boolean) => void
}

/** Models of the conversation, with memory and context use of the base. */
export function ChatHead({ chat, candidates, onCandidates, hasSettings, onSettings }: HeadProps) {
  const { conversation, isRunning } = chat
  return (
    <div className="flex max-h-[60%] shrink-0 flex-col gap-2 overflow-auto border-b border-line px-page py-2 *:shrink-0">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 [&>[role=group]]:contents">
        <CandidatePickers
          candidates={candidates}
          on={conversation.model}
          isDisabled={isRunning}
          onChange={onCandidates}
        />
      </div>
      {candidates.length > conversation.columns.length && (
        <p className="text-sm text-caution">
          A conversation holds one base model in memory: answers come from those on{' '}
          {lastPart(conversation.model)} alone. Blind vote compares models on different bases.
        </p>
      )}
      <div className="flex items-start gap-3">
        <div className="min-w-0 grow">
          <BaseLine chat={chat} />
        </div>
        <Button icon={SlidersHorizontal} aria-expanded={hasSettings} onClick={() => onSettings(!hasSettings)}>
          Settings
        </Button>
      </div>
      {hasSettings && <ChatSettings chat={chat} />}
    </div>
  )
}

type Room = Answer<'chat.room'>

/** Memory needed before the first answer, context used afterwards. */
function BaseLine({ chat }: { chat: Chat }) {
  const { model, base, columns } = chat.conversation
  const { data: room, error } = useAnswer('chat.room', { model, base, columns }, { keep: true })
  const close = useCommand('chat.close')
  if (error !== null) return <ErrorNote error={error} />
  if (room === undefined) return <Skeleton label="Looking at the model" className="h-7 w-100 max-w-full" />
  if (room.problem !== null)
    return (
      <ErrorNote
        error={{ message: room.problem, hint: 'Choose another model, or fewer bits in Settings.' }}
      />
    )
  return (
    <div className="flex min-h-7 flex-wrap items-center gap-x-4 gap-y-1 text-sm text-muted tabular-nums">
      <ContextMeter used={usedTokens(chat.turns)} length={room.contextLength} />
      <span className={classes(isTight(room) && 'text-caution')}>{memoryWords(room)}</span>
      {room.state === 'open' && !chat.isRunning && (
        <Tooltip text="It is unloaded after five minutes without use, too.">
          <Button small variant="quiet" disabled={close.isRunning} onClick={() => void close.run(undefined)}>
            Unload
          </Button>
        </Tooltip>
      )}
    </div>
  )
}

const neededBytes = ({ weightBytes, contextBytes }: Room): number => weightBytes + contextBytes

const isTight = (room: Room): boolean => room.state === 'closed' && neededBytes(room) > room.availableBytes

function memoryWords(room: Room): string {
  const needed = `about ${formatBytes(neededBytes(room))}`
  if (room.state === 'open') return `Loaded: ${needed} in ${room.base}`
  const size = `${needed} of memory in ${room.base}`
  if (room.state === 'opening') return `Loading: ${size}`
  const free = `${formatBytes(room.availableBytes)} are free`
  return isTight(room)
    ? `Loading it takes ${size}, but only ${free}: it may be slow, or be ended by the system.`
    : `Loading it takes ${size}; ${free}.`
}

function ContextMeter({ used, length }: { used: number; length: number }) {
  const words = `${formatCount(used)} of ${formatCount(length)} tokens of context`
  const isNearlyFull = used > 0.9 * length
  return (
    <span className="inline-flex items-center gap-2">
      <Progress label={words} value={used / Math.max(1, length)} className="w-16" />
      <span className={classes(isNearlyFull && 'font-medium text-caution')}>
        {words}
        {isNearlyFull && ', nearly full: edit an earlier message or begin a new conversation'}
      </span>
    </span>
  )
}
