import { Play, Square, StepForward, Workflow } from 'lucide-react'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { unpackInts } from '#shared/packedArray.ts'
import { plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { EmptyState, ErrorNote } from '#renderer/kit/states.tsx'
import { TokenText } from '#renderer/kit/TokenText.tsx'
import { CompletionList } from './CompletionList.tsx'
import { callNames } from '#shared/api/workflows.ts'
import { saidOf, type EpisodeRequest, type PrintedLines } from './episode.ts'
import { EpisodeEndView, RewardBadge } from './EpisodeEndView.tsx'
import type { WorkflowTrial } from './useWorkflow.ts'

const NotPlayed = ({ trial }: { readonly trial: WorkflowTrial }) => (
  <EmptyState
    icon={Workflow}
    iconSize={24}
    title="Play one episode on a row."
    action={
      trial.missing === null ? (
        <div className="flex items-center gap-3">
          <StepButton trial={trial} />
          <Button variant="primary" icon={Play} onClick={trial.play}>
            Play the episode
          </Button>
        </div>
      ) : (
        <p className="text-caution">{trial.missing}</p>
      )
    }
  >
    See every request as the model reads it, what comes back, and which tokens are learned from. Step through
    it one request at a time, or play it to its end.
  </EmptyState>
)

/** Plays one episode with the model: requests as they arrive, and the resulting trajectories. */
export function TryTab({ trial }: { trial: WorkflowTrial }) {
  const { code, episode, error, isWaiting } = trial
  if (code === null) return <NotPlayed trial={trial} />
  const { requests, end } = episode
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Controls trial={trial} />
      <Scroller count={requests.length + (end === null ? 0 : 1)}>
        <ol aria-label="Requests" className="flex flex-col gap-3">
          {requests.map((request, i) => (
            <li key={request.number} className="flex flex-col gap-3">
              <Printed lines={episode.printed} after={i} />
              <RequestCard request={request} isRunning={trial.isRunning} />
            </li>
          ))}
        </ol>
        <Printed lines={episode.printed} after={requests.length} />
        {isWaiting && (
          <p className="text-sm text-muted">
            {requests.length === 0 ? 'Opening the model…' : 'Waiting for the next request…'}
          </p>
        )}
        {trial.isStopped && <p className="text-sm text-muted">Stopped before its end.</p>}
        {error !== null && <ErrorNote error={error} />}
        {end !== null && <EpisodeEndView end={end} />}
      </Scroller>
    </div>
  )
}

function StepButton({ trial, small = false }: { trial: WorkflowTrial; small?: boolean }) {
  return (
    <Button
      small={small}
      icon={StepForward}
      disabled={trial.missing !== null || trial.isWaiting}
      onClick={trial.step}
    >
      Step
    </Button>
  )
}

function Controls({ trial }: { trial: WorkflowTrial }) {
  const { episode, isRunning, isHeld, isStale, missing, cancel } = trial
  const rounds = episode.requests.at(-1)?.round ?? 0
  return (
    <div className="flex min-h-9 shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-1 text-sm text-muted">
      <StepButton trial={trial} small />
      <Button small icon={Play} disabled={missing !== null || (isRunning && !isHeld)} onClick={trial.play}>
        {isHeld ? 'Play on' : 'Play again'}
      </Button>
      {isRunning && (
        <Button small icon={Square} iconSize={12} onClick={cancel}>
          Stop
        </Button>
      )}
      <span role="status" className="tabular-nums">
        {plural(episode.requests.length, 'request')} in {plural(rounds, 'round')}
        {isHeld && ' so far'}
      </span>
      {missing !== null && <span className="text-caution">{missing}</span>}
      {isStale && <span className="ml-auto text-caution">The code has changed since</span>}
    </div>
  )
}

/** Scrolls to the last request, and finally to the start of the result. */
function Scroller({ count, children }: { count: number; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const cards = box.current?.querySelectorAll('[data-part]') ?? []
    if (count > 1) cards[cards.length - 1]?.scrollIntoView({ block: 'start' })
  }, [count])
  return (
    <div ref={box} className="flex min-h-0 grow flex-col gap-3 overflow-auto p-4">
      {children}
    </div>
  )
}

function Printed({ lines, after }: { lines: readonly PrintedLines[]; after: number }) {
  const own = lines.filter((each) => each.after === after).flatMap((each) => each.lines)
  if (own.length === 0) return null
  return (
    <pre
      aria-label="Printed by the code"
      dir="auto"
      className="border-l-2 border-line pl-3 font-mono text-sm break-words whitespace-pre-wrap text-muted"
    >
      {own.join('\n')}
    </pre>
  )
}

function RequestCard({ request, isRunning }: { request: EpisodeRequest; isRunning: boolean }) {
  const { number, round, kind, prompt, completions, answer } = request
  const { messages, options } = saidOf(request)
  const tokens = prompt?.tokens ?? request.tokens
  return (
    <section
      aria-label={`Request ${String(number + 1)}`}
      data-part
      className="scroll-mt-4 rounded border border-line"
    >
      <header className="flex flex-wrap items-center gap-x-3 border-b border-line bg-panel px-3 py-1.5 text-sm">
        <h3 className="font-mono font-medium">
          <span className="text-faint">{number + 1}</span> {callNames[kind]}
        </h3>
        <span className="text-faint">round {round}</span>
        <span className="min-w-0 font-mono text-xs break-words text-muted">{options.join(' · ')}</span>
        {prompt !== null && (
          <span className="ml-auto text-xs text-faint tabular-nums">{samplingWords(prompt.sampling)}</span>
        )}
      </header>
      <div className="flex flex-col gap-3 px-3 py-2">
        {messages.map(({ role, content }, i) => (
          <p key={i} dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
            <span className="text-faint">{role}</span> {content}
          </p>
        ))}
        {tokens !== null && <Ids label={prompt === null ? 'Given' : 'Read by the model'} tokens={tokens} />}
        {completions !== null && <CompletionList completions={completions} />}
        {answer !== null && (
          <>
            {answer.tokens !== null && <Ids label="Answer" tokens={answer.tokens} />}
            <AnswerText answer={answer.answer} />
          </>
        )}
        {completions === null && answer === null && isRunning && (
          <p className="text-sm text-muted">Waiting for the answer…</p>
        )}
      </div>
    </section>
  )
}

function samplingWords(sampling: Readonly<Record<string, unknown>>): string {
  const { greedy, temperature, maxNewTokens } = sampling
  const how = greedy === true ? 'greedy' : `temperature ${String(temperature)}`
  return `${how} · at most ${String(maxNewTokens)} tokens`
}

interface IdsProps {
  readonly label: string
  readonly tokens: NonNullable<EpisodeRequest['tokens']>
}

function Ids({ label, tokens: { ids, texts } }: IdsProps) {
  const numbers = unpackInts(ids)
  return (
    <TokenText
      label={label}
      header={
        <span>
          {label}, {plural(numbers.length, 'token')}
        </span>
      }
      tokens={texts.map((text, i) => ({ id: numbers[i] ?? 0, text }))}
      className="max-h-40 overflow-auto"
    />
  )
}

/** Shows judgements by their numbers and anything else as JSON; renders nothing if only ids remain. */
function AnswerText({ answer }: { answer: unknown }) {
  const [isWhole, setWhole] = useState(false)
  if (answer === null || (typeof answer === 'object' && Object.keys(answer).length === 0)) return null
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2)
  const totals = totalsOf(answer)
  return (
    <div className="flex flex-col gap-1">
      {totals.length > 0 && (
        <p className="flex flex-wrap items-center gap-1 text-sm text-muted">
          Judged
          {totals.map((total, i) => (
            <RewardBadge key={i} value={total} />
          ))}
          <Button small variant="quiet" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Hide the answer' : 'Show the answer'}
          </Button>
        </p>
      )}
      {(totals.length === 0 || isWhole) && (
        <pre
          dir="auto"
          tabIndex={0}
          className="max-h-40 overflow-auto font-mono text-sm break-words whitespace-pre-wrap"
        >
          {text}
        </pre>
      )}
    </div>
  )
}

function totalsOf(answer: unknown): (number | null)[] {
  if (!Array.isArray(answer)) return []
  return answer.flatMap((each: unknown) => {
    if (typeof each !== 'object' || each === null || !('total' in each)) return []
    return typeof each.total === 'number' || each.total === null ? [each.total] : []
  })
}
