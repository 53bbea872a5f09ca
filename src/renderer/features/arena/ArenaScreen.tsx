import { Plus } from 'lucide-react'
import { useState } from 'react'
import { columnAtWork } from './completions.ts'
import { ContenderColumn, type ColumnState } from './ContenderColumn.tsx'
import { PromptPanel } from './PromptPanel.tsx'
import { Standings } from './Standings.tsx'
import { mostColumns, readPrompts, writeChoice } from './contenders.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { useContenders, useRound, useVotes, type Round, type RoundView, type Sampling } from './useArena.ts'
import { useKeys } from '#renderer/client/keys.ts'
import { useRoute } from '#renderer/client/route.ts'

const firstSampling: Sampling = { temperature: 0, maxNewTokens: 64, seed: 42 }
const letters = ['A', 'B', 'C', 'D'] as const
const columnsOf: Readonly<Record<number, string>> = {
  2: 'grid-cols-2 narrow:grid-cols-1',
  3: 'grid-cols-3 narrow:grid-cols-1',
  4: 'grid-cols-2 narrow:grid-cols-1 min-[1700px]:grid-cols-4',
}

/** Two to four models on the same prompt and seed; which is better is said before names are seen. */
export function ArenaScreen() {
  const { query } = useRoute()
  const { contenders, set } = useContenders()
  const round = useRound()
  const votes = useVotes()
  const suggestions = readPrompts(query.get('prompts'))
  const [draft, setDraft] = useState({ text: query.get('prompt') ?? suggestions[0] ?? '', asChat: true })
  const [sampling, setSampling] = useState(firstSampling)
  const [isBlind, setBlind] = useState(true)
  /** Index into the round's contenders, null for a tie; undefined: not voted yet. */
  const [voted, setVoted] = useState<number | null | undefined>(undefined)

  const chosen = contenders.filter((each): each is ModelChoice => each !== null)
  const isReady = chosen.length === contenders.length && draft.text !== '' && !round.isRunning
  const generate = () => {
    if (!isReady) return
    setVoted(undefined)
    round.start({ contenders: chosen, prompt: draft.text, sampling, isBlind }, draft.asChat)
  }
  useKeys({ act: generate })

  const shown = round.round
  const vote = (winner: number | null) => {
    if (shown === null) return
    setVoted(winner)
    votes.add({
      contenders: shown.contenders.map(writeChoice),
      winner,
      isBlind: shown.isBlind,
      prompt: shown.prompt,
      seed: shown.sampling.seed,
    })
  }

  return (
    <Page
      title="Arena"
      main={
        round.isRunning ? (
          <Button onClick={round.cancel}>Stop</Button>
        ) : (
          <Button variant="primary" disabled={!isReady} onClick={generate}>
            Generate
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-6">
        <PromptPanel
          draft={draft}
          onDraft={setDraft}
          sampling={sampling}
          onSampling={setSampling}
          isBlind={isBlind}
          onBlind={setBlind}
          model={chosen[0]?.model ?? null}
          suggestions={suggestions}
        />
        {round.error !== null && <ErrorNote error={round.error} />}
        <Columns contenders={contenders} onContenders={set} round={round} voted={voted} onVote={vote} />
        <Standings votes={votes.votes} onClear={votes.clear} />
      </div>
    </Page>
  )
}

const isOf = (round: Round | null, contenders: readonly (ModelChoice | null)[]): boolean =>
  JSON.stringify(round?.contenders.map(writeChoice)) ===
  JSON.stringify(contenders.map((choice) => (choice === null ? null : writeChoice(choice))))

interface ColumnsProps {
  readonly contenders: readonly (ModelChoice | null)[]
  readonly onContenders: (contenders: readonly (ModelChoice | null)[]) => void
  readonly round: RoundView
  readonly voted: number | null | undefined
  readonly onVote: (winner: number | null) => void
}

function Columns({ contenders, onContenders, round, voted, onVote }: ColumnsProps) {
  // Of other contenders than stand there now, nothing is shown and nothing can be said.
  const shown = isOf(round.round, contenders) ? round.round : null
  const isHidden = shown !== null && shown.isBlind && voted === undefined
  const isOpen = shown !== null && round.isDone && voted === undefined
  const order = shown?.order.length === contenders.length ? shown.order : contenders.map((_, i) => i)
  const atWork = columnAtWork(round.completions, order)
  const stateOf = (place: number): ColumnState =>
    !round.isRunning || atWork === null || place < atWork ? 'idle' : place === atWork ? 'writing' : 'waiting'
  const change = (index: number, choice: ModelChoice) =>
    onContenders(contenders.map((each, i) => (i === index ? choice : each)))
  const remove = (index: number) => () => onContenders(contenders.filter((_, i) => i !== index))
  return (
    <>
      <div className={`grid gap-4 ${columnsOf[contenders.length] ?? ''}`}>
        {order.map((index, place) => (
          <ContenderColumn
            key={letters[place]}
            label={`Column ${letters[place] ?? ''}`}
            choice={contenders[index] ?? null}
            onChoice={(choice) => change(index, choice)}
            onRemove={contenders.length > 2 ? remove(index) : undefined}
            isHidden={isHidden}
            completion={shown === null ? undefined : round.completions[index]}
            state={stateOf(place)}
            vote={{ isOpen, isWinner: shown !== null && voted === index, onVote: () => onVote(index) }}
          />
        ))}
      </div>
      <div className="flex items-center gap-2">
        {contenders.length < mostColumns && !isHidden && (
          <Button icon={<Plus size={14} aria-hidden />} onClick={() => onContenders([...contenders, null])}>
            Add a column
          </Button>
        )}
        <span className="grow" />
        {isOpen && <Button onClick={() => onVote(null)}>They are alike</Button>}
      </div>
    </>
  )
}
