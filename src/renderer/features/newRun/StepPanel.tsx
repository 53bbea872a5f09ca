import { Check, ChevronDown, ChevronRight } from 'lucide-react'
import { useId, type ReactNode } from 'react'
import { plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'

interface StepPanelProps {
  /** Of its head, to be found when the person is taken there. */
  readonly headId: string
  /** From 1. */
  readonly number: number
  readonly title: string
  /** What was chosen, in one line; null: nothing yet. */
  readonly summary: string | null
  readonly isOpen: boolean
  readonly onToggle: () => void
  /** In place of a summary. */
  readonly emptyWords?: string
  readonly isDone: boolean
  /** Found wrong by the host. */
  readonly problems: number
  /** Folds this step and opens the next one. */
  readonly onContinue?: (() => void) | undefined
  readonly children: ReactNode
}

/** One step: its head always visible, with what was chosen in it. */
export function StepPanel(props: StepPanelProps) {
  const { number, title, summary, isDone, isOpen, onToggle, problems, onContinue, children } = props
  const { emptyWords = 'Not chosen yet' } = props
  const id = useId()
  const { headId } = props
  const Chevron = isOpen ? ChevronDown : ChevronRight
  return (
    <section aria-labelledby={id} className="rounded border border-line bg-bg">
      <h2 id={id}>
        <button
          type="button"
          id={headId}
          aria-expanded={isOpen}
          onClick={onToggle}
          className="flex min-h-11 w-full items-center gap-3 rounded px-3 py-2 text-left -outline-offset-2 hover:bg-panel"
        >
          <StepMark number={number} isDone={isDone && problems === 0} />
          <span className="w-16 shrink-0 font-medium">{title}</span>
          <span className={classes('min-w-0 grow truncate', summary === null ? 'text-faint' : 'text-muted')}>
            {summary ?? emptyWords}
          </span>
          {problems > 0 && <Badge tone="bad">{plural(problems, 'problem')}</Badge>}
          <Chevron size={14} aria-hidden className="shrink-0 text-faint" />
        </button>
      </h2>
      {isOpen && (
        <div className="border-t border-line p-4 pl-12 narrow:px-3">
          {children}
          {onContinue !== undefined && (
            <div className="mt-4 flex justify-end">
              <Button onClick={onContinue}>Continue</Button>
            </div>
          )}
        </div>
      )}
    </section>
  )
}

const StepMark = ({ number, isDone }: { number: number; isDone: boolean }) => (
  <span
    className={classes(
      'inline-flex size-6 shrink-0 items-center justify-center rounded-full text-sm font-medium tabular-nums',
      isDone ? 'bg-good-soft text-good' : 'bg-raised text-muted',
    )}
  >
    {isDone ? <Check size={13} aria-label="Chosen" /> : number}
  </span>
)
