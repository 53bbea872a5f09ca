import type { Answer } from '#renderer/client/api.tsx'
import { useNow } from '#renderer/client/live.ts'
import { formatAgo, plural } from '#renderer/client/format.ts'
import { useChoiceTitle } from '#renderer/client/modelChoice.ts'
import { link } from '#renderer/client/route.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { choicesOf } from './conversation.ts'

interface Props {
  readonly conversations: Answer<'chat.list'>
  readonly chosen: string | null
}

/** Lists conversations, last changed first. */
export function ConversationList({ conversations, chosen }: Props) {
  const now = useNow(60_000)
  const titleOf = useChoiceTitle()
  return (
    <nav
      aria-label="Conversations"
      className="max-h-[70vh] min-h-0 overflow-auto py-2 min-[840px]:max-h-none"
    >
      <ul>
        {conversations.map((each) => (
          <li key={each.id}>
            {'problem' in each ? (
              <p className="flex items-center gap-2 px-4 py-2" title={each.problem}>
                <span className="min-w-0 grow truncate text-muted">{each.problem}</span>
                <Badge tone="bad">Unreadable</Badge>
              </p>
            ) : (
              <a
                href={link(`/playground/chat/${each.id}`)}
                aria-current={each.id === chosen ? 'page' : undefined}
                className="flex flex-col gap-0.5 px-4 py-2 -outline-offset-2 hover:bg-raised aria-[current=page]:bg-accent-soft"
              >
                <span dir="auto" className="truncate font-medium">
                  {each.title}
                </span>
                <span className="truncate text-sm text-muted">
                  {choicesOf(each).map(titleOf).join(', ')} · {plural(each.turns, 'turn')} ·{' '}
                  {formatAgo(each.updatedAt, now)}
                </span>
              </a>
            )}
          </li>
        ))}
      </ul>
    </nav>
  )
}
