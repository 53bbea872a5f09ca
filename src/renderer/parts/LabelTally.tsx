import { Database, Undo2 } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { keyTable, type KeyId } from '#shared/keyTable.ts'
import { useAnswer, useCommand, type Answer } from '#renderer/client/api.tsx'
import { formatCount, plural } from '#renderer/client/format.ts'
import { keysOf, keyWords, useKeyBindings, useKeys } from '#renderer/client/keys.ts'
import { navigate } from '#renderer/client/route.ts'
import { toast } from '#renderer/client/toasts.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { SegmentedField } from '#renderer/kit/choices.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { ConfirmDialog, Dialog } from '#renderer/kit/Dialog.tsx'
import { TextField } from '#renderer/kit/inputs.tsx'
import { Kbd } from '#renderer/kit/states.tsx'
import { useLabelling, useUndoLabel } from './useLabels.ts'

interface TallyProps {
  /** Run or conversation, or `vote`. */
  readonly scope: string
  /** Name of it, as in “Labels of …”. */
  readonly place: string
  readonly className?: string
  /** Buttons before the counts. */
  readonly children?: ReactNode
}

const shownKeys = ['rateGood', 'rateBad', 'prefer', 'editAnswer', 'nextRow', 'undoLabel'] as const
const keyHints: Readonly<Partial<Record<KeyId, string>>> = {
  rateGood: 'good',
  rateBad: 'bad',
  prefer: 'better',
  editAnswer: 'edit',
  nextRow: 'next',
  undoLabel: 'undo',
}

/** Counts the labels of a place, says their keys, takes the last one back and makes a data set of them. */
export function LabelTally({ scope, place, className, children }: TallyProps) {
  const { data: counts } = useAnswer('labels.counts', { scope }, { staleMs: 0, keep: true })
  const undo = useUndoLabel(scope)
  const [isOpen, setOpen] = useState(false)
  useKeys(undo === null ? {} : { undoLabel: undo })
  const { good = 0, bad = 0, preferred = 0, edited = 0 } = counts ?? {}
  const words = [
    ...Object.entries({ good, bad, preferred, edited }).flatMap(([name, count]) =>
      count === 0 ? [] : [`${formatCount(count)} ${name}`],
    ),
  ].join(' · ')
  return (
    <section
      aria-label="Labels"
      className={classes('flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted', className)}
    >
      {children}
      <span role="status" className="tabular-nums">
        {words === '' && counts !== undefined ? 'No labels yet' : words}
      </span>
      <KeyHints />
      <span className="ml-auto inline-flex gap-1">
        <Button small variant="quiet" icon={Undo2} disabled={undo === null} onClick={() => undo?.()}>
          Undo
        </Button>
        <Button small icon={Database} disabled={words === ''} onClick={() => setOpen(true)}>
          Make a data set…
        </Button>
      </span>
      {isOpen && <DataSetDialog scope={scope} place={place} onClose={() => setOpen(false)} />}
    </section>
  )
}

/** Keeps to one line: as many as there is room for. */
function KeyHints() {
  const { bindings, singles } = useKeyBindings()
  if (!singles) return null
  return (
    <span className="inline-flex h-5 grow basis-0 flex-wrap content-start items-center gap-x-2 gap-y-1 overflow-hidden text-faint narrow:hidden">
      {shownKeys.map((id) => {
        const [key] = keysOf(id, bindings)
        return (
          key !== undefined && (
            <span key={id} title={keyTable[id].label} className="inline-flex items-center gap-1">
              <Kbd>{keyWords(key)}</Kbd>
              {keyHints[id]}
            </span>
          )
        )
      })}
    </span>
  )
}

type Kind = 'ratings' | 'pairs'

function DataSetDialog({ scope, place, onClose }: TallyProps & { readonly onClose: () => void }) {
  const [kind, setKind] = useState<Kind | null>(null)
  const [from, setFrom] = useState<'here' | 'all'>('here')
  const [name, setName] = useState<string | null>(null)
  const [isForgetting, setForgetting] = useState(false)
  const of = from === 'here' ? { scope } : {}
  const { data: counts } = useAnswer('labels.counts', of, { staleMs: 0, keep: true })
  const make = useCommand('labels.makeDataSet', {
    onDone: ({ versionId }) => {
      onClose()
      navigate(`/data/${versionId}`)
    },
  })
  const rows = counts?.rows ?? { ratings: 0, pairs: 0 }
  const shown = kind ?? (rows.ratings === 0 && rows.pairs > 0 ? 'pairs' : 'ratings')
  const called = name ?? `labels-${shown}`
  const isUsable = rows[shown] > 0 && called.trim() !== '' && called.length <= 200 && !make.isRunning
  if (isForgetting) return <ForgetDialog of={of} place={from === 'here' ? place : null} onClose={onClose} />
  return (
    <Dialog
      onClose={onClose}
      title="Make a data set of labels"
      aside={
        <Button variant="quiet" onClick={() => setForgetting(true)}>
          Forget labels…
        </Button>
      }
      action={{
        label: 'Make a data set',
        isDisabled: !isUsable,
        run: () => void make.run({ ...of, kind: shown, name: called.trim() }),
      }}
    >
      <div className="flex flex-col gap-4">
        <SegmentedField
          label="Labels of"
          value={from}
          onChange={setFrom}
          options={{ here: place, all: 'Everything' }}
        />
        <SegmentedField
          label="Rows"
          value={shown}
          onChange={setKind}
          options={{
            ratings: `Ratings, for KTO (${formatCount(rows.ratings)})`,
            pairs: `Pairs, for DPO (${formatCount(rows.pairs)})`,
          }}
        />
        <TextField label="Name" value={called} onChange={setName} />
        <Notes counts={counts} kind={shown} />
      </div>
    </Dialog>
  )
}

const Notes = ({ counts, kind }: { counts: Answer<'labels.counts'> | undefined; kind: Kind }) => (
  <ul className="flex list-disc flex-col gap-1 pl-4 text-sm text-muted">
    <li>
      {kind === 'ratings'
        ? 'A row for each answer rated as good or bad; what an answer was edited to is good.'
        : 'A row for each answer that another was preferred to, and for each edited answer against what it was edited to.'}
    </li>
    {counts !== undefined && counts.truncated > 0 && (
      <li>
        {plural(counts.truncated, 'good or preferred answer')} left out as such: cut off, they would teach to
        stop there.
      </li>
    )}
    {counts !== undefined && counts.ofDeletedRuns > 0 && (
      <li>
        {plural(counts.ofDeletedRuns, 'label')} of deleted runs: they keep prompts and answers, and are among
        those of everything.
      </li>
    )}
  </ul>
)

interface ForgetProps {
  readonly of: { readonly scope?: string }
  /** null: all labels. */
  readonly place: string | null
  readonly onClose: () => void
}

function ForgetDialog({ of, place, onClose }: ForgetProps) {
  const { attempt } = useLabelling(of.scope ?? '')
  const forget = useCommand('labels.delete', {
    onDone: ({ deleted }) => toast({ title: `${plural(deleted, 'label')} forgotten.` }),
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={place === null ? 'Forget all labels?' : `Forget the labels of ${place.toLowerCase()}?`}
      action="Forget labels"
      onConfirm={() => void attempt(() => forget.run(of))}
    >
      Ratings, preferences and edits are removed and cannot be brought back. Data sets made of them stay.
    </ConfirmDialog>
  )
}
