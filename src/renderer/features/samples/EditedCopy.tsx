import { Pencil } from 'lucide-react'
import { useTextScore, type TextScore } from './useSamples.ts'
import { formatDelta, formatNumber } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { TextArea } from '#renderer/kit/inputs.tsx'
import { ErrorNote } from '#renderer/kit/states.tsx'
import type { Sample } from '#renderer/parts/groups.ts'
import { useLabelling, type Answered, type Label } from '#renderer/parts/useLabels.ts'

interface EditedCopyProps {
  readonly sample: Sample
  readonly answered: Answered
  readonly label: Label | undefined
  /** True if the run has rewards that score it. */
  readonly isScored: boolean
  /** null: nothing is being edited. */
  readonly text: string | null
  readonly onText: (text: string | null) => void
  readonly onEdit: () => void
}

/** Edits a copy of a completion: rescores it while typing, and keeps it as what should have been said. */
export function EditedCopy(props: EditedCopyProps) {
  const { label, isScored, text, onEdit } = props
  if (text !== null) return <Editor {...props} text={text} />
  const kept = label?.edit ?? null
  return (
    <div className="border-t border-line px-4 py-3">
      {kept !== null && (
        <>
          <h3 className="font-medium">Edited to</h3>
          <p dir="auto" className="mt-1 mb-2 font-mono break-words whitespace-pre-wrap">
            {kept}
          </p>
        </>
      )}
      <Button small icon={Pencil} onClick={onEdit}>
        Edit a copy
      </Button>
      <span className="ml-2 text-sm text-faint">
        {isScored
          ? 'scored while you type, and kept as the better answer if you like'
          : 'kept as the better answer'}
      </span>
    </div>
  )
}

const longest = 200_000
const quiet = { small: true, variant: 'quiet' } as const

function Editor(props: EditedCopyProps & { readonly text: string }) {
  const { sample, answered, label, isScored, text, onText } = props
  const { set } = useLabelling(sample.runId)
  const kept = label?.edit ?? null
  const keep = (edit: string | null) => {
    set(answered, { changes: { edit } })
    onText(null)
  }
  return (
    <section aria-label="Edited copy" className="border-t border-line px-4 py-3">
      <header className="mb-2 flex min-h-6 flex-wrap items-center gap-2">
        <h3 className="font-medium">Edited copy</h3>
        <span className="ml-auto flex flex-wrap gap-1">
          <Button {...quiet} disabled={text === sample.completion} onClick={() => onText(sample.completion)}>
            Undo changes
          </Button>
          {kept !== null && (
            <Button {...quiet} onClick={() => keep(null)}>
              Remove
            </Button>
          )}
          <Button {...quiet} onClick={() => onText(null)}>
            Close
          </Button>
          <Button
            small
            disabled={text === sample.completion || text === kept || text.trim() === ''}
            title="For pairs, it is better than what the model wrote; for ratings, it is good."
            onClick={() => keep(text)}
          >
            Keep as the better answer
          </Button>
        </span>
      </header>
      <TextArea
        autoFocus
        mono
        aria-label={isScored ? 'Completion to score' : 'Better answer'}
        rows={Math.min(12, Math.max(3, text.split('\n').length + 1))}
        maxLength={longest}
        value={text}
        onChange={onText}
      />
      {isScored && <Score sample={sample} text={text} />}
    </section>
  )
}

function Score({ sample, text }: { sample: Sample; text: string }) {
  const { score, error, isScoring } = useTextScore(sample.id, text)
  return (
    <>
      <div role="status" className="mt-1 min-h-6">
        {error !== null && <ErrorNote error={error} />}
        {error === null && (
          <span className={classes(isScoring && 'opacity-60')}>
            {score === null ? (
              <span className="text-muted">Scoring…</span>
            ) : (
              <Change sample={sample} score={score} />
            )}
          </span>
        )}
      </div>
      {score?.failures.map(({ message }, i) => (
        <p key={`${String(i)} ${message}`} className="text-sm text-caution">
          {message}
        </p>
      ))}
    </>
  )
}

function Change({ sample, score }: { sample: Sample; score: TextScore }) {
  const { delta, parts } = scoreChange(sample, score)
  return (
    <span className="tabular-nums">
      Reward{' '}
      <strong className="font-mono font-medium">
        {score.reward === null ? 'none' : formatNumber(score.reward)}
      </strong>{' '}
      {delta !== null && delta !== 0 && (
        <span className={classes('font-mono', delta > 0 ? 'text-good' : 'text-bad')}>
          {formatDelta(delta)}
        </span>
      )}
      {delta === 0 && parts.length === 0 && <span className="text-muted">as before</span>}
      {parts.length > 0 && (
        <span className="text-muted"> · {parts.map((part) => partWords(part, formatNumber)).join(', ')}</span>
      )}
    </span>
  )
}

// Rewards of a completion and of its edited copy.

type Parts = Readonly<Record<string, number | null>>

interface RewardTerm {
  readonly name: string
  /** Value of the function; null if it does not apply or failed. */
  readonly value: number | null
  /** Null if it is not among the settings of the run. */
  readonly weight: number | null
  /** Value times weight. */
  readonly share: number | null
}

/** Returns every part with its weight, those of the settings first and in their order. */
export function rewardTerms(parts: Parts, weights: ReadonlyMap<string, number>): readonly RewardTerm[] {
  const names = [...new Set([...[...weights.keys()].filter((name) => name in parts), ...Object.keys(parts)])]
  return names.map((name) => {
    const value = parts[name] ?? null
    const weight = weights.get(name) ?? null
    return { name, value, weight, share: value === null || weight === null ? null : value * weight }
  })
}

interface ScoreChange {
  /** Null if one of the two has no reward. */
  readonly delta: number | null
  /** Changed parts, largest difference first. */
  readonly parts: readonly {
    readonly name: string
    readonly before: number | null
    readonly after: number | null
  }[]
}

interface Scored {
  readonly reward: number | null
  readonly parts: Parts
}

/** Tolerance of rewards, which are sums of floating-point products. */
const smallest = 1e-9

export function scoreChange(before: Scored, after: Scored): ScoreChange {
  const names = [...new Set([...Object.keys(before.parts), ...Object.keys(after.parts)])]
  const parts = names
    .map((name) => ({ name, before: before.parts[name] ?? null, after: after.parts[name] ?? null }))
    .filter((part) => differ(part.before, part.after))
    .sort((a, b) => sizeOf(b) - sizeOf(a))
  const delta = before.reward === null || after.reward === null ? null : after.reward - before.reward
  return { delta: delta !== null && Math.abs(delta) < smallest ? 0 : delta, parts }
}

const differ = (a: number | null, b: number | null): boolean =>
  a === null || b === null ? a !== b : Math.abs(a - b) >= smallest

const sizeOf = ({ before, after }: ScoreChange['parts'][number]): number =>
  before === null || after === null ? Infinity : Math.abs(after - before)

/** Formats “correct lost”, “format 0.5 → 1”. */
export function partWords(
  { name, before, after }: ScoreChange['parts'][number],
  write: (value: number | null) => string,
): string {
  if (before !== null && after !== null && before > 0 && after === 0) return `${name} lost`
  if (before === 0 && after !== null && after > 0) return `${name} won`
  return `${name} ${write(before)} → ${write(after)}`
}
