import { MessagesSquare, Plus } from 'lucide-react'
import { useState, type ComponentProps } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { navigate, useRoute } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Popover } from '#renderer/kit/Menu.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState, ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { useFollowedScroll } from '#renderer/kit/scroll.ts'
import { ChatHead, type HeadProps } from './ChatHead.tsx'
import { Composer } from './Composer.tsx'
import { ConversationList } from './ConversationList.tsx'
import { ConversationMenu } from './ConversationMenu.tsx'
import { TurnView } from './TurnView.tsx'
import { choicesOf } from './conversation.ts'
import { useChat, useCurrentAnswer } from './useChat.ts'
import { LabelTally } from '#renderer/parts/LabelTally.tsx'
import { useCandidates, type Candidates } from '#renderer/parts/useCandidates.ts'

/** `/playground/chat`: a new conversation with the chosen models; `/playground/chat/:id`: a saved one with its own. */
export function ChatScreen() {
  const { rest } = useRoute()
  const id = rest[0] ?? null
  const { data: saved } = useAnswer('chat.get', { id: id ?? '' }, { enabled: id !== null })
  const { candidates, set } = useCandidates(id === null ? null : saved === undefined ? [] : choicesOf(saved))
  const { chat, error } = useChat(id, candidates)
  const [hasSettings, setSettings] = useState(false)
  const { data: list } = useAnswer('chat.list', undefined)
  const { data: models } = useAnswer('models.list', undefined)
  const conversations = list ?? []
  return (
    <Page
      isFull
      title={id === null ? undefined : chat?.conversation.title}
      main={
        <>
          {conversations.length > 0 && (
            <span className="hidden narrow:inline-flex">
              <Popover label="Conversations" width={320} trigger={<Button>Conversations</Button>}>
                <ConversationList conversations={conversations} chosen={id} />
              </Popover>
            </span>
          )}
          {chat !== null && id !== null && <ConversationMenu conversation={chat.conversation} />}
          <Button icon={Plus} onClick={() => navigate('/playground/chat')}>
            <span className="phone:sr-only">New conversation</span>
          </Button>
        </>
      }
    >
      <div className="flex min-h-0 grow">
        {conversations.length > 0 && (
          <div className="flex w-60 shrink-0 flex-col border-r border-line max-[1100px]:w-52 narrow:hidden">
            <ConversationList conversations={conversations} chosen={id} />
          </div>
        )}
        {error !== null ? (
          <ErrorNote error={error} className="m-8 self-start" />
        ) : chat !== null ? (
          <ConversationPane
            key={id ?? 'new'}
            chat={chat}
            candidates={candidates.length === 0 ? choicesOf(chat.conversation) : candidates}
            onCandidates={set}
            hasSettings={hasSettings}
            onSettings={setSettings}
          />
        ) : models?.length === 0 ? (
          <EmptyState icon={MessagesSquare} title="Add a model to talk to">
            Models are added under Models.
          </EmptyState>
        ) : (
          <Loading />
        )}
      </div>
    </Page>
  )
}

interface PaneProps extends Omit<HeadProps, 'onCandidates'> {
  readonly onCandidates: Candidates['set']
}

function ConversationPane({ chat, candidates, onCandidates, hasSettings, onSettings }: PaneProps) {
  const { conversation, turns, isRunning, error } = chat
  const choose: ComponentProps<typeof ChatHead>['onCandidates'] = (next, was) => {
    const columns = next.map(({ adapter = null }, at) => ({ adapter, was: was[at] ?? null }))
    if (conversation.id === null) onCandidates(next)
    else chat.change({ columns, ...(next[0] && { model: next[0].model }) })
  }
  const { current, setCurrent } = useCurrentAnswer(turns)
  const [isFollowing, setFollowing] = useState(true)
  const size = turns.map(({ user, answers, writing }) => [user.length, answers, writing])
  const scroller = useFollowedScroll<HTMLDivElement>(JSON.stringify(size), isFollowing)
  const follow = ({ scrollHeight, scrollTop, clientHeight }: HTMLElement) =>
    setFollowing(scrollHeight - scrollTop - clientHeight < 40)
  return (
    <div className="flex min-h-0 min-w-0 grow flex-col max-[1100px]:[--page:16px]">
      <ChatHead {...{ chat, candidates, hasSettings, onSettings }} onCandidates={choose} />
      <div
        ref={scroller}
        onScroll={({ currentTarget }) => follow(currentTarget)}
        className="min-h-0 grow overflow-auto px-page py-4 short:min-h-40"
      >
        <div className="mx-auto flex max-w-300 flex-col gap-5">
          {conversation.system !== '' && (
            <p dir="auto" className="text-sm break-words whitespace-pre-wrap text-muted">
              <span className="font-medium">System: </span>
              {conversation.system}
            </p>
          )}
          {turns.length === 0 && (
            <EmptyState icon={MessagesSquare} title="Say something">
              The model keeps what was said in mind, as far as its context reaches. Conversations stay on this
              machine.
            </EmptyState>
          )}
          {turns.map((turn, index) => (
            <TurnView
              key={index}
              {...{ chat, turn, index }}
              current={current.turn === index ? current.column : null}
              onCurrent={(column) => setCurrent({ turn: index, column })}
            />
          ))}
          {error !== null && !isRunning && <ErrorNote error={error} />}
        </div>
      </div>
      {conversation.id !== null && turns.length > 0 && (
        <LabelTally
          scope={conversation.id}
          place="This conversation"
          className="border-t border-line px-page py-1"
        />
      )}
      <Composer chat={chat} onSend={() => setFollowing(true)} />
    </div>
  )
}
