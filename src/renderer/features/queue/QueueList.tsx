import { ArrowDown, ArrowUp, Play, X } from 'lucide-react'
import type { KeyboardEvent } from 'react'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { link } from '#renderer/client/route.ts'
import { useRuns, type RunEntry } from '#renderer/client/runs.ts'
import { runTitle } from '#renderer/client/words.ts'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Checkbox } from '#renderer/kit/choices.tsx'
import { ErrorNote, Skeleton } from '#renderer/kit/states.tsx'

/** Waiting runs in order. Alt and an arrow key move the focused one. */
export function QueueList() {
  const { data } = useAnswer('queue.get', undefined)
  const { runs } = useRuns()
  const { run: move } = useCommand('queue.move')
  const { run: remove } = useCommand('queue.remove')
  const { run: setContinue } = useCommand('queue.setContinueOnError')
  if (data === undefined) return <Skeleton label="Reading the queue" className="h-5 w-80 max-w-full" />
  const entries = data.runs.map((entry) => ({ ...entry, run: runs.find(({ id }) => id === entry.runId) }))
  return (
    <div className="grid gap-2">
      {data.halted !== null && (
        <Halted halted={data.halted} run={runs.find(({ id }) => id === data.halted?.runId)} />
      )}
      {entries.length === 0 ? (
        <p className="text-muted">The queue is empty. New runs can be queued instead of started at once.</p>
      ) : (
        <ol aria-label="Queue" className="divide-y divide-line rounded border border-line">
          {entries.map(({ runId, continueOnError, run }, i) => (
            <QueueRow
              key={runId}
              {...{ runId, run, continueOnError }}
              place={i}
              count={entries.length}
              onMove={(to) => void move({ runId, to })}
              onContinue={(next) => void setContinue({ runId, continueOnError: next })}
              onRemove={() => void remove({ runId })}
            />
          ))}
        </ol>
      )}
    </div>
  )
}

interface QueueRowProps {
  readonly runId: string
  readonly run: RunEntry | undefined
  /** Index, from 0. */
  readonly place: number
  readonly count: number
  readonly continueOnError: boolean
  readonly onMove: (to: number) => void
  readonly onContinue: (continueOnError: boolean) => void
  readonly onRemove: () => void
}

function QueueRow(props: QueueRowProps) {
  const { runId, run, place, count, continueOnError, onMove, onContinue, onRemove } = props
  const title = run === undefined ? runId : runTitle(run)
  const onKeyDown = (event: KeyboardEvent) => {
    const to = keyMove(event, place, count)
    if (to === null) return
    event.preventDefault()
    onMove(to)
  }
  return (
    <li className="flex min-h-9 flex-wrap items-center gap-x-2 py-1 pr-1 pl-3" onKeyDown={onKeyDown}>
      <span className="w-5 shrink-0 text-sm text-faint tabular-nums">{place + 1}</span>
      <a
        href={link(`/runs/${runId}/overview`)}
        aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
        className="min-w-0 flex-1 truncate hover:underline"
      >
        {title}
      </a>
      <span className="flex shrink-0">
        <IconButton
          small
          label={`Move ${title} up`}
          icon={ArrowUp}
          disabled={place === 0}
          onClick={() => onMove(place - 1)}
        />
        <IconButton
          small
          label={`Move ${title} down`}
          icon={ArrowDown}
          disabled={place === count - 1}
          onClick={() => onMove(place + 1)}
        />
        <IconButton small label={`Take ${title} out of the queue`} icon={X} onClick={onRemove} />
      </span>
      <span className="basis-full pl-6 text-sm text-muted">
        <Checkbox label="Continue on failure" checked={continueOnError} onChange={onContinue} />
      </span>
    </li>
  )
}

interface HaltedProps {
  readonly halted: {
    readonly runId: string | null
    readonly error: { readonly message: string; readonly hint: string | null } | null
  }
  readonly run: RunEntry | undefined
}

/** Shows that the queue waits until the user resumes it: after a failure, or because it came from elsewhere. */
function Halted({ halted: { runId, error }, run }: HaltedProps) {
  const { run: proceed, isRunning } = useCommand('queue.proceed')
  const title = run === undefined ? runId : runTitle(run)
  const behind = 'The runs behind it are safe and have not started.'
  const failed = {
    message: `The queue waits: ${title} failed.`,
    hint: error === null ? behind : `${error.message} ${behind}`,
  }
  return (
    <ErrorNote
      error={runId === null && error !== null ? error : failed}
      action={
        <Button small disabled={isRunning} icon={Play} iconSize={12} onClick={() => void proceed(undefined)}>
          {runId === null ? 'Let it start' : 'Continue with the next'}
        </Button>
      }
    />
  )
}

/** Returns where Alt and a key move an entry of the queue, or null. */
export function keyMove(
  { key, altKey }: { readonly key: string; readonly altKey: boolean },
  place: number,
  count: number,
): number | null {
  if (!altKey) return null
  const to = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: count - 1 }[key]
  return to === undefined || to < 0 || to >= count || to === place ? null : to
}
