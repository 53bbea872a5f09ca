import { Trophy, X } from 'lucide-react'
import { formatNumber, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button, IconButton } from '#renderer/kit/Button.tsx'
import { Loading, Progress } from '#renderer/kit/states.tsx'
import { ModelPicker } from '#renderer/features/models/ModelPicker.tsx'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import type { Completion } from './completions.ts'

const stopWords: Readonly<Record<string, string>> = {
  'stop-id': 'stopped (EOS)',
  'stop-string': 'ended at a stop string',
  length: 'length limit',
}

/** One column is written after the other. */
export type ColumnState = 'idle' | 'waiting' | 'writing'

interface ColumnProps {
  /** “Column A”. */
  readonly label: string
  readonly choice: ModelChoice | null
  readonly onChoice: (choice: ModelChoice) => void
  /** Not given where two columns are left. */
  readonly onRemove: (() => void) | undefined
  /** Its name must not be seen yet. */
  readonly isHidden: boolean
  readonly completion: Completion | undefined
  readonly state: ColumnState
  readonly vote: { readonly isOpen: boolean; readonly isWinner: boolean; readonly onVote: () => void }
}

/** One contender with its answer. */
export function ContenderColumn(props: ColumnProps) {
  const { label, choice, onChoice, onRemove, isHidden, completion, state, vote } = props
  return (
    <section aria-label={label} className="flex min-h-60 min-w-0 flex-col rounded border border-line">
      <header className="flex h-11 shrink-0 items-center gap-2 border-b border-line px-3">
        <span className="font-medium">{label}</span>
        {isHidden ? (
          <span className="text-faint">name hidden until you vote</span>
        ) : (
          <span className="min-w-0 grow">
            <ModelPicker label={`Model of ${label}`} withCheckpoints value={choice} onChange={onChoice} />
          </span>
        )}
        {vote.isWinner && (
          <Badge tone="good" icon={<Trophy size={11} aria-hidden />}>
            Your choice
          </Badge>
        )}
        {onRemove !== undefined && !isHidden && (
          <IconButton small label={`Remove ${label}`} icon={<X size={13} aria-hidden />} onClick={onRemove} />
        )}
      </header>
      <div className="min-h-0 grow overflow-auto p-3">
        {completion === undefined ? (
          <p className="text-faint">The answer will appear here.</p>
        ) : state === 'waiting' ? (
          <p className="text-faint">Waits for its turn.</p>
        ) : completion.text === '' && state === 'writing' ? (
          <Loading label="Generating" />
        ) : (
          <p dir="auto" className="font-mono text-sm break-words whitespace-pre-wrap">
            {completion.text}
            {completion.text === '' && <span className="text-faint">(empty answer)</span>}
          </p>
        )}
      </div>
      <footer className="flex h-10 shrink-0 items-center gap-2 border-t border-line px-3 text-sm text-muted tabular-nums">
        {state === 'writing' && (
          <Progress label={`${label} is being written`} value={null} className="w-16" />
        )}
        {completion !== undefined && state !== 'waiting' && (
          <span className="min-w-0 truncate">
            {plural(completion.tokens, 'token')}
            {completion.tokensPerSecond !== null && ` · ${formatNumber(completion.tokensPerSecond)} tokens/s`}
            {completion.stopReason !== null &&
              ` · ${stopWords[completion.stopReason] ?? completion.stopReason}`}
          </span>
        )}
        <span className="grow" />
        {vote.isOpen && (
          <Button small onClick={vote.onVote}>
            {label} is better
          </Button>
        )}
      </footer>
    </section>
  )
}
