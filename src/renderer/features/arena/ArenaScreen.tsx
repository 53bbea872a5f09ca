import { Swords, Trophy } from 'lucide-react'
import { useState } from 'react'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { Busy, EmptyState, ErrorNote, Progress } from '#renderer/kit/states.tsx'
import { type ModelChoice, useChoiceTitle } from '#renderer/client/modelChoice.ts'
import { voteGroup } from '#shared/labelGroups.ts'
import { useApi, useLatest } from '#renderer/client/api.tsx'
import { useKeys } from '#renderer/client/keys.ts'
import { useRoute } from '#renderer/client/route.ts'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { endWords } from '#renderer/client/words.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { CutName } from '#renderer/kit/CutName.tsx'
import { CandidatePickers } from '#renderer/parts/CandidatePickers.tsx'
import { useCandidates } from '#renderer/parts/useCandidates.ts'
import { columnAtWork, type Completion, readPrompts, writeChoice } from '#renderer/parts/candidates.ts'
import { LabelButtons } from '#renderer/parts/LabelButtons.tsx'
import { LabelTally } from '#renderer/parts/LabelTally.tsx'
import { labelOf, useLabelling, useLabels, type Answered, type Label } from '#renderer/parts/useLabels.ts'
import { EditedText } from '#renderer/kit/EditedText.tsx'
import { PromptPanel } from './PromptPanel.tsx'
import { Standings } from './Standings.tsx'
import { answeredIn, useRound, useVotes, type Round, type RoundView, type Sampling } from './useArena.ts'

const firstSampling: Sampling = { temperature: 0, maxNewTokens: 64, seed: 42 }
const letters = ['A', 'B', 'C', 'D'] as const
const columnsOf: Readonly<Record<number, string>> = {
  2: 'grid-cols-2 narrow:grid-cols-1',
  3: 'grid-cols-3 narrow:grid-cols-1',
  4: 'grid-cols-2 narrow:grid-cols-1 min-[1700px]:grid-cols-4',
}

const nothingToCompare = (
  <EmptyState icon={Swords} title="Which one is better?">
    Choose two to four models or checkpoints. They answer the same prompt under hidden names, and you vote
    before you see who wrote what.
  </EmptyState>
)

/** Compares two to four models on the same prompt and seed, with their names hidden until the vote. */
export function ArenaScreen() {
  const { query } = useRoute()
  const { candidates, set } = useCandidates()
  const round = useRound()
  const votes = useVotes()
  const suggestions = readPrompts(query.get('prompts'))
  const [draft, setDraft] = useState({ text: query.get('prompt') ?? suggestions[0] ?? '', asChat: true })
  const [sampling, setSampling] = useState(firstSampling)
  const [isBlind, setBlind] = useState(true)
  const { voted, vote, forget } = useVote(round, votes)
  const isReady = candidates.length > 1 && draft.text !== '' && !round.isRunning
  const generate = () => {
    if (!isReady) return
    forget()
    round.start({ candidates, prompt: draft.text, asChat: draft.asChat, sampling, isBlind })
  }
  useKeys({ act: generate })

  return (
    <Page
      toolbar={<CandidatePickers candidates={candidates} onChange={set} isDisabled={round.isRunning} />}
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
          {...{ draft, sampling, isBlind, suggestions }}
          failing={query.get('failing')}
          onDraft={setDraft}
          onSampling={setSampling}
          onBlind={setBlind}
          model={candidates[0]?.model ?? null}
        />
        {round.error !== null && <ErrorNote error={round.error} />}
        {candidates.length > 1 ? (
          <Columns {...{ candidates, round, voted }} onVote={vote} />
        ) : (
          nothingToCompare
        )}
        {(round.isDone || votes.votes.length > 0) && <LabelTally scope="vote" place="Blind votes" />}
        <Standings votes={votes.votes} onClear={votes.clear} />
      </div>
    </Page>
  )
}

const isOf = (round: Round | null, candidates: readonly ModelChoice[]): boolean =>
  JSON.stringify(round?.candidates.map(writeChoice)) === JSON.stringify(candidates.map(writeChoice))

/** Vote on the answers of a round: an index into its candidates, null for a tie; undefined before. */
function useVote({ round: shown, completions }: RoundView, votes: ReturnType<typeof useVotes>) {
  const [voted, setVoted] = useState<number | null | undefined>(undefined)
  const client = useApi()
  const { change } = useLabelling('vote')
  const latest = useLatest(votes)
  const vote = (winner: number | null) => {
    if (shown === null) return
    setVoted(winner)
    votes.add({
      candidates: shown.candidates.map(writeChoice),
      winner,
      isBlind: shown.isBlind,
      prompt: shown.prompt,
      seed: shown.sampling.seed,
    })
    if (winner === null) return
    const answered = answeredIn(shown, completions, winner)
    change(async () => {
      const before = await client.call('labels.set', { answered, changes: { isPreferred: true } })
      return async () => {
        await client.call('labels.restore', before)
        setVoted(undefined)
        latest.current.removeLast()
      }
    })
  }
  return { voted, vote, forget: () => setVoted(undefined) }
}

interface ColumnsProps {
  readonly candidates: readonly ModelChoice[]
  readonly round: RoundView
  readonly voted: number | null | undefined
  readonly onVote: (winner: number | null) => void
}

function Columns({ candidates, round, voted, onVote }: ColumnsProps) {
  const titleOf = useChoiceTitle()
  // Neither results of other candidates than the current ones nor a round without any are shown or voted on.
  const isFailed = round.error !== null && round.completions.every(({ tokens }) => tokens === 0)
  const shown = isOf(round.round, candidates) && !isFailed ? round.round : null
  const isHidden = shown !== null && shown.isBlind && voted === undefined
  const isOpen = shown !== null && round.isDone && voted === undefined
  const order = shown?.order.length === candidates.length ? shown.order : candidates.map((_, i) => i)
  const atWork = columnAtWork(round.completions, order)
  const labels = useLabels(shown === null ? null : voteGroup(shown.id))
  const [current, setCurrent] = useState(0)
  useKeys({
    nextRow: () => setCurrent((current + 1) % order.length),
    previousRow: () => setCurrent((current + order.length - 1) % order.length),
  })
  const labellingOf = (index: number, place: number): Labelling | null => {
    if (shown === null || !round.isDone) return null
    return {
      answered: answeredIn(shown, round.completions, index),
      label: labelOf(labels, index, round.completions[index]?.text ?? ''),
      isCurrent: place === current,
      onCurrent: () => setCurrent(place),
    }
  }
  const stateOf = (place: number): ColumnState =>
    !round.isRunning || atWork === null || place < atWork ? 'idle' : place === atWork ? 'writing' : 'waiting'
  return (
    <>
      <div className={`grid gap-4 ${columnsOf[candidates.length] ?? ''}`}>
        {order.map((index, place) => (
          <CandidateColumn
            key={letters[place]}
            label={`Column ${letters[place] ?? ''}`}
            name={isHidden ? null : titleOf(candidates[index] ?? { model: '' })}
            completion={shown === null ? undefined : round.completions[index]}
            state={stateOf(place)}
            vote={{ isOpen, isWinner: shown !== null && voted === index, onVote: () => onVote(index) }}
            labelling={labellingOf(index, place)}
          />
        ))}
      </div>
      {isOpen && (
        <Button className="self-end" onClick={() => onVote(null)}>
          Tie
        </Button>
      )}
    </>
  )
}

/** Columns are written one after the other. */
type ColumnState = 'idle' | 'waiting' | 'writing'

interface ColumnProps {
  readonly label: string
  /** Null: hidden until the vote. */
  readonly name: string | null
  readonly completion: Completion | undefined
  readonly state: ColumnState
  readonly vote: { readonly isOpen: boolean; readonly isWinner: boolean; readonly onVote: () => void }
  /** null: its round is not over. */
  readonly labelling: Labelling | null
}

interface Labelling {
  readonly answered: Answered
  readonly label: Label | undefined
  /** True for the answer that the keys are about. */
  readonly isCurrent: boolean
  readonly onCurrent: () => void
}

const completionWords = ({ tokens, tokensPerSecond, stopReason }: Completion): string =>
  [
    plural(tokens, 'token'),
    ...(tokensPerSecond === null ? [] : [`${formatNumber(tokensPerSecond)} tokens/s`]),
    ...(stopReason === null ? [] : [endWords(stopReason)]),
  ].join(' · ')

function CandidateColumn({ label, name, completion, state, vote, labelling }: ColumnProps) {
  const [isEditing, setEditing] = useState(false)
  return (
    <section
      aria-label={label}
      aria-current={labelling?.isCurrent}
      onFocus={labelling?.onCurrent}
      onPointerDown={labelling?.onCurrent}
      className={classes(
        'flex min-h-44 min-w-0 flex-col rounded border',
        labelling?.isCurrent === true ? 'border-accent' : 'border-line',
      )}
    >
      <ColumnHead label={label} name={name} isWinner={vote.isWinner} />
      <div className="min-h-0 grow overflow-auto p-3">
        <ColumnText completion={completion} state={state} />
        {labelling !== null && (
          <BetterAnswer {...labelling} {...{ isEditing }} name={label} onEdited={() => setEditing(false)} />
        )}
      </div>
      <footer className="flex min-h-10 shrink-0 flex-wrap items-center gap-x-1 border-t border-line px-3 py-1 text-sm text-muted tabular-nums">
        {state === 'writing' && (
          <Progress label={`${label} is being written`} value={null} className="w-16" />
        )}
        {completion !== undefined && state !== 'waiting' && (
          <span className="min-w-0 truncate">
            {/* Speed would tell an adapter from its base. */}
            {completionWords(name === null ? { ...completion, tokensPerSecond: null } : completion)}
          </span>
        )}
        <span className="grow" />
        {labelling !== null && (
          <LabelButtons
            {...labelling}
            scope="vote"
            title={label}
            prefer={vote.isOpen ? vote.onVote : null}
            hasKeys={labelling.isCurrent}
            onEdit={() => setEditing(true)}
          />
        )}
        {vote.isOpen && (
          <Button small onClick={vote.onVote}>
            {label} is better
          </Button>
        )}
      </footer>
    </section>
  )
}

function ColumnHead({ label, name, isWinner }: Pick<ColumnProps, 'label' | 'name'> & { isWinner: boolean }) {
  return (
    <header className="flex h-9 shrink-0 items-center gap-2 border-b border-line px-3">
      <span className="shrink-0 font-medium">{label}</span>
      <span className="min-w-0 grow text-faint">
        {name === null ? 'name hidden until you vote' : <CutName name={name} />}
      </span>
      {isWinner && (
        <Badge tone="good" icon={Trophy}>
          Your choice
        </Badge>
      )}
    </header>
  )
}

function ColumnText({ completion, state }: Pick<ColumnProps, 'completion' | 'state'>) {
  return completion === undefined ? (
    <p className="text-faint">The answer will appear here.</p>
  ) : state === 'waiting' ? (
    <p className="text-faint">Waiting for its turn.</p>
  ) : completion.text === '' && state === 'writing' ? (
    <Busy label="Generating" />
  ) : (
    <p dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
      {completion.text}
      {completion.text === '' && <span className="text-faint">(empty answer)</span>}
    </p>
  )
}

interface BetterProps extends Labelling {
  readonly name: string
  readonly isEditing: boolean
  readonly onEdited: () => void
}

/** Shows the text that should have been said, or its editor. */
function BetterAnswer({ answered, label, name, isEditing, onEdited }: BetterProps) {
  const { set } = useLabelling('vote')
  const edit = label?.edit ?? null
  const written = answered.kind === 'vote' ? (answered.answers[answered.column] ?? '') : ''
  if (isEditing)
    return (
      <div className="mt-3">
        <EditedText
          label={`Edit the answer of ${name}`}
          action="Save"
          text={edit ?? written}
          note="For pairs, it is better than what the model wrote."
          onCancel={onEdited}
          onSave={(text) => {
            set(answered, { changes: { edit: text === written ? null : text } })
            onEdited()
          }}
        />
      </div>
    )
  return (
    edit !== null && (
      <div className="mt-3 border-l-2 border-accent pl-3">
        <p className="text-sm text-muted">Edited to</p>
        <p dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
          {edit}
        </p>
      </div>
    )
  )
}
