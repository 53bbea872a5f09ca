import { useState } from 'react'
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { formatReward, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'

type Prompt = Answer<'evaluations.prompts'>['prompts'][number]

const shownAtOnce = 20

/** Lists answers with their rewards, page by page. */
export function AnswersList({ id }: { id: string }) {
  const [from, setFrom] = useState(0)
  const { data, error } = useAnswer('evaluations.prompts', { id, from, count: shownAtOnce }, { keep: true })
  if (error !== null) return <ErrorNote error={error} />
  if (data === undefined) return <Loading label="Reading the completions" />
  const last = Math.min(from + shownAtOnce, data.total)
  return (
    <Panel
      isFlush
      title="Completions"
      actions={
        <>
          <span className="text-sm text-faint tabular-nums">
            {`${String(from + 1)}–${String(last)} of ${plural(data.total, 'prompt')}`}
          </span>
          <Button
            small
            variant="quiet"
            disabled={from === 0}
            onClick={() => setFrom(Math.max(0, from - shownAtOnce))}
          >
            Previous
          </Button>
          <Button
            small
            variant="quiet"
            disabled={last >= data.total}
            onClick={() => setFrom(from + shownAtOnce)}
          >
            Next
          </Button>
        </>
      }
    >
      <ol>
        {data.prompts.map((prompt) => (
          <PromptItem key={prompt.row} prompt={prompt} />
        ))}
      </ol>
    </Panel>
  )
}

function PromptItem({ prompt: { row, prompt, samples } }: { prompt: Prompt }) {
  return (
    <li className="border-b border-line px-3 py-2 last:border-b-0">
      <p className="flex items-start gap-2 text-muted">
        <span className="w-10 shrink-0 font-mono text-xs leading-5 text-faint">{row + 1}</span>
        <span dir="auto" className="min-w-0 break-words whitespace-pre-wrap line-clamp-3">
          {prompt}
        </span>
      </p>
      <ul>
        {samples.map(({ completion, reward, truncated, failures = [] }, i) => (
          <li key={i} className="flex items-start gap-2">
            <span className="w-10 shrink-0 font-mono text-sm leading-5 tabular-nums">
              {formatReward(reward)}
            </span>
            <span dir="auto" className="min-w-0 grow break-words whitespace-pre-wrap line-clamp-4">
              {completion}
            </span>
            {truncated && <Badge tone="caution">Truncated</Badge>}
            {failures.length > 0 && (
              <span title={failures.join('\n')}>
                <Badge tone="bad">Reward failed</Badge>
              </span>
            )}
          </li>
        ))}
      </ul>
    </li>
  )
}
