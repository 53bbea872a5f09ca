import type { PutAside } from './useDraft.ts'
import { Button } from '#renderer/kit/Button.tsx'
import type { Draft } from './draft.ts'
import { dataWords, modelWords, type Known } from './summaries.ts'

/** Runs that were being set up when something else took their place. */
export function PutAsideDrafts({ aside, known }: { aside: PutAside; known: Known }) {
  if (aside.drafts.length === 0) return null
  return (
    <ul aria-label="Put aside" className="mb-4 divide-y divide-line rounded border border-line bg-panel">
      {aside.drafts.map((draft, i) => (
        <li key={String(i)} className="flex items-center gap-2 py-1.5 pr-2 pl-3">
          <span className="min-w-0 grow truncate text-muted">Put aside: {draftWords(draft, known)}</span>
          <Button small onClick={() => aside.bringBack(draft)}>
            Bring it back
          </Button>
          <Button small variant="quiet" onClick={() => aside.discard(draft)}>
            Discard
          </Button>
        </li>
      ))}
    </ul>
  )
}

const draftWords = ({ config, fork }: Draft, known: Known): string =>
  [
    typeof config['name'] === 'string' ? config['name'] : null,
    fork === null ? null : `fork from step ${String(fork.step)}`,
    modelWords(config, known),
    dataWords(config, known),
  ]
    .filter((words) => words !== null)
    .join(' · ') || 'a run without model and data'
