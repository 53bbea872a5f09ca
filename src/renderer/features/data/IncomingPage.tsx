import { FileText } from 'lucide-react'
import { useState } from 'react'
import type { Arrival } from '#renderer/client/adding.ts'
import { useDiscard } from './useData.ts'
import { plural } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { IncomingFile } from './IncomingFile.tsx'

interface IncomingPageProps {
  readonly arrivals: readonly Arrival[]
  /** The data set they become a version of; null: new ones. */
  readonly into: string | null
}

/** Files somebody dropped or chose: each is looked at and imported, or not. */
export function IncomingPage({ arrivals, into }: IncomingPageProps) {
  const [chosen, choose] = useState(arrivals.at(-1) ?? null)
  const [before, setBefore] = useState(arrivals)
  if (before !== arrivals) {
    setBefore(arrivals)
    // What somebody just brought is what they want to see.
    const added = arrivals.findLast((arrival) => !before.includes(arrival))
    if (added !== undefined) choose(added)
  }
  const shown = chosen !== null && arrivals.includes(chosen) ? chosen : arrivals[0]
  const discard = useDiscard()
  if (shown === undefined) return null
  return (
    <IncomingFile
      key={JSON.stringify(shown.source)}
      arrival={shown}
      into={into}
      onDiscard={() => discard(shown)}
      files={
        arrivals.length > 1 && (
          <Files
            arrivals={arrivals}
            shown={shown}
            onChoose={choose}
            onDiscardAll={() => arrivals.forEach((arrival) => discard(arrival))}
          />
        )
      }
    />
  )
}

interface FilesProps {
  readonly arrivals: readonly Arrival[]
  readonly shown: Arrival
  readonly onChoose: (arrival: Arrival) => void
  readonly onDiscardAll: () => void
}

/** What else waits for a decision. */
function Files({ arrivals, shown, onChoose, onDiscardAll }: FilesProps) {
  return (
    <nav
      aria-label="Files to decide about"
      className="flex w-56 shrink-0 flex-col border-r narrow:max-h-56 narrow:w-full narrow:border-r-0 narrow:border-b border-line bg-panel"
    >
      <p className="flex h-9 shrink-0 items-center border-b border-line px-4 text-sm font-medium text-muted">
        {plural(arrivals.length, 'file')} to decide about
      </p>
      <ul className="min-h-0 grow overflow-auto py-1">
        {arrivals.map((arrival, at) => (
          <li key={`${String(at)} ${arrival.name}`}>
            <button
              type="button"
              aria-current={arrival === shown}
              onClick={() => onChoose(arrival)}
              className="flex h-8 w-full items-center gap-2 px-4 text-left -outline-offset-2 hover:bg-raised aria-[current=true]:bg-accent-soft aria-[current=true]:text-accent-ink"
            >
              <FileText size={14} aria-hidden className="shrink-0" />
              <span className="truncate">{arrival.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <div className="border-t border-line p-2">
        <Button small variant="quiet" onClick={onDiscardAll}>
          Discard all
        </Button>
      </div>
    </nav>
  )
}
