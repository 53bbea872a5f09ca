import { CornerDownLeft, Gamepad2, RotateCcw, Undo2 } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { formatNumber } from '#renderer/client/format.ts'
import type { Episode } from './useTrials.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { NumberInput, TextArea, Form } from '#renderer/kit/inputs.tsx'
import { EmptyState, ErrorNote } from '#renderer/kit/states.tsx'
import { cellText } from './bench.ts'
import { failureWords } from './results.ts'
import type { PlayedTurn } from '#renderer/parts/rewardTypes.ts'

interface PlayTabProps {
  readonly episode: Episode
  readonly rowWords: string
}

/** Plays an episode by hand: shows what the policy would read, and the rewards of its turns. */
export function PlayTab({ episode, rowWords }: PlayTabProps) {
  const { turns, error, isStarted, start } = episode
  const last = turns.at(-1)
  if (!isStarted) {
    return (
      <EmptyState
        icon={Gamepad2}
        iconSize={24}
        title="Take the policy’s place for an episode."
        action={
          <div className="flex items-center gap-3">
            <SeedField episode={episode} />
            <Button variant="primary" onClick={start}>
              Begin an episode
            </Button>
          </div>
        }
      >
        Type what the policy would write, and see what it would read and earn. The episode starts from{' '}
        {rowWords}.
      </EmptyState>
    )
  }
  return (
    <div className="flex h-full min-h-0 flex-col">
      <EpisodeBar episode={episode} rowWords={rowWords} />
      {error !== null && <ErrorNote error={error} className="m-3 shrink-0" />}
      <div className={besideClasses}>
        <div className="flex min-h-0 min-w-0 grow flex-col">
          <Transcript turns={turns} />
          <ActionForm isOver={last !== undefined && isOver(last)} onAct={episode.act} />
        </div>
        {last !== undefined && <StatePane turn={last} />}
      </div>
    </div>
  )
}

const SeedField = ({ episode: { seed, setSeed } }: { episode: Episode }) => (
  <label className="flex items-center gap-1 text-sm text-muted">
    Seed
    <span className="w-16">
      <NumberInput
        small
        aria-label="Seed"
        value={seed}
        onChange={(next) => setSeed(Math.max(0, Math.round(next ?? 0)))}
      />
    </span>
  </label>
)

function EpisodeBar({ episode, rowWords }: PlayTabProps) {
  const { turns, maxTurns, isStale, start, takeBack } = episode
  const total = turns.reduce((sum, { reward }) => sum + (reward ?? 0), 0)
  return (
    <div className="flex h-9 shrink-0 items-center gap-3 border-b border-line px-4 text-sm text-muted">
      <Button small icon={RotateCcw} onClick={start}>
        New episode
      </Button>
      <Button small icon={Undo2} disabled={turns.length < 2} onClick={takeBack}>
        Take back
      </Button>
      <SeedField episode={episode} />
      <span>{rowWords}</span>
      <span>
        turn {Math.max(0, turns.length - 1)} of at most {maxTurns ?? '…'}
      </span>
      <span>
        reward so far{' '}
        <span className="font-mono font-medium text-text tabular-nums">{formatNumber(total)}</span>
      </span>
      {isStale && <span className="ml-auto text-caution">The code has changed since</span>}
    </div>
  )
}

function Transcript({ turns }: { turns: readonly PlayedTurn[] }) {
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    const shown = list.current
    if (shown !== null) shown.scrollTop = shown.scrollHeight
  }, [turns])
  return (
    <ol
      ref={list}
      className="flex min-h-0 grow flex-col gap-2 overflow-auto p-4"
      aria-label="Turns"
      aria-live="polite"
      tabIndex={0}
    >
      {turns.map((turn, i) => (
        <TurnItem key={i} turn={turn} />
      ))}
    </ol>
  )
}

function TurnItem({
  turn: { action, observation, reward, terminated, truncated, failure },
}: {
  turn: PlayedTurn
}) {
  return (
    <li className="flex flex-col gap-1 text-sm">
      {action !== null && (
        <div className="ml-10 flex items-start justify-end gap-2">
          {reward !== null && (
            <Badge tone={reward > 0 ? 'good' : reward < 0 ? 'bad' : 'plain'}>{formatNumber(reward)}</Badge>
          )}
          <pre
            dir="auto"
            className="rounded bg-accent-soft px-2 py-1 font-mono break-words whitespace-pre-wrap"
          >
            {action === '' ? ' ' : action}
          </pre>
        </div>
      )}
      {failure !== null && <p className="rounded bg-bad-soft px-2 py-1 text-bad">{failureWords(failure)}</p>}
      {observation !== null && (
        <pre
          dir="auto"
          className="mr-10 self-start rounded bg-raised px-2 py-1 font-mono break-words whitespace-pre-wrap"
        >
          {observationText(observation)}
        </pre>
      )}
      {(terminated || truncated) && (
        <p className="text-center text-faint">
          {terminated ? 'The episode is over.' : 'The episode was truncated.'}
        </p>
      )}
    </li>
  )
}

const isOver = ({ terminated, truncated, failure }: PlayedTurn): boolean =>
  terminated || truncated || failure !== null

const observationText = (observation: NonNullable<PlayedTurn['observation']>): string =>
  typeof observation === 'string'
    ? observation
    : observation.map(({ role, content }) => `${role}: ${content}`).join('\n\n')

function ActionForm({ isOver, onAct }: { isOver: boolean; onAct: (action: string) => void }) {
  const [text, setText] = useState('')
  const act = () => {
    onAct(text)
    setText('')
  }
  return (
    <Form
      className="flex shrink-0 items-end gap-2 border-t border-line p-2"
      onSubmit={() => !isOver && act()}
    >
      <TextArea
        mono
        rows={1}
        aria-label="What the policy writes"
        placeholder={isOver ? 'The episode is over' : 'What the policy writes'}
        className="field-sizing-content resize-none max-h-32 min-h-7"
        disabled={isOver}
        value={text}
        onChange={setText}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey) return
          event.preventDefault()
          act()
        }}
      />
      <Button type="submit" disabled={isOver} icon={CornerDownLeft} iconSize={13}>
        Act
      </Button>
    </Form>
  )
}

function StatePane({ turn: { state, columns, metrics, lines } }: { turn: PlayedTurn }) {
  const logged = [
    ...Object.entries(metrics).map(([name, value]) => [name, formatNumber(value)] as const),
    ...Object.entries(columns).map(([name, value]) => [name, cellText(value)] as const),
  ]
  return (
    <aside
      aria-label="State"
      className="flex w-80 max-w-full shrink-0 flex-col narrow:w-full narrow:border-l-0 narrow:border-t gap-3 overflow-auto border-l border-line p-3 text-sm"
      tabIndex={0}
    >
      <section>
        <h3 className="text-xs font-medium text-faint">State (the policy does not see it)</h3>
        <pre dir="auto" className="font-mono break-words whitespace-pre-wrap">
          {JSON.stringify(state, null, 2)}
        </pre>
      </section>
      {(logged.length > 0 || lines.length > 0) && (
        <section>
          <h3 className="text-xs font-medium text-faint">Logged</h3>
          <pre dir="auto" className="font-mono break-words whitespace-pre-wrap">
            {[...logged.map(([name, value]) => `${name} ${value}`), ...lines].join('\n')}
          </pre>
        </section>
      )}
    </aside>
  )
}
