import { RotateCcw, ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { toast } from '#renderer/client/toasts.ts'
import { formatMoment, plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses, classes } from '#renderer/kit/classes.ts'
import { Segmented } from '#renderer/kit/choices.tsx'
import { TextInput } from '#renderer/kit/inputs.tsx'
import { EmptyState } from '#renderer/kit/states.tsx'
import { LazyCodeDiff } from '#renderer/editor/lazyEditor.tsx'
import { versionNumber } from '#renderer/parts/rewardLibrary.ts'
import type { RewardVersion } from '#renderer/parts/rewardTypes.ts'
import type { OpenReward } from './useRewards.ts'

/** Width from which two columns of code fit. */
const wide = matchMedia('(min-width: 1600px)')

/** Lists saved versions, and compares them with the code in the editor. */
export function VersionsTab({ open: { versions, code, change, note } }: { open: OpenReward }) {
  const [chosen, setChosen] = useState<string | null>(null)
  const [layout, setLayout] = useState<'unified' | 'split'>(wide.matches ? 'split' : 'unified')
  // Without changes since the newest version, a comparison with the previous one says more.
  const usual = versions[0]?.code === code.code ? (versions[1] ?? versions[0]) : versions[0]
  const open = versions.find(({ hash }) => hash === chosen) ?? usual
  if (open === undefined) return <EmptyState title="Saving the code makes the first version." />
  const isSame = open.code === code.code && open.language === code.language
  const number = versionNumber(versions, open.hash) ?? 0
  const restore = () => {
    change({ language: open.language, code: open.code })
    toast({ title: `Version ${String(number)} is in the editor.` })
  }
  return (
    <div className={`${besideClasses} h-full`}>
      <ol
        className="w-72 shrink-0 overflow-auto border-r border-line narrow:max-h-48 narrow:w-full narrow:border-r-0 narrow:border-b"
        aria-label="Versions"
      >
        {versions.map((version) => (
          <VersionItem
            key={version.hash}
            version={version}
            number={versionNumber(versions, version.hash) ?? 0}
            isOpen={version.hash === open.hash}
            isCurrent={version.code === code.code && version.language === code.language}
            onOpen={() => setChosen(version.hash)}
          />
        ))}
      </ol>
      <div className="flex min-h-0 min-w-0 grow flex-col">
        <div className="flex min-h-9 shrink-0 flex-wrap items-center gap-2 border-b border-line px-3">
          <NoteField key={open.hash} version={open} onNote={note} />
          <Segmented
            label="Layout of the difference"
            value={layout}
            options={{ split: 'Side by side', unified: 'One column' }}
            onChange={setLayout}
          />
          <Button small icon={RotateCcw} disabled={isSame} onClick={restore}>
            Restore
          </Button>
        </div>
        <div className="min-h-0 grow">
          {isSame ? (
            <p className="p-4 text-muted">This is the code in the editor.</p>
          ) : (
            <LazyCodeDiff
              {...{ layout, before: open.code, after: code.code, language: code.language }}
              label={`Version ${String(number)} and the code in the editor`}
            />
          )}
        </div>
      </div>
    </div>
  )
}

interface VersionItemProps {
  readonly version: RewardVersion
  readonly number: number
  readonly isOpen: boolean
  readonly isCurrent: boolean
  readonly onOpen: () => void
}

function VersionItem({ version, number, isOpen, isCurrent, onOpen }: VersionItemProps) {
  const { note, createdAt, gatesStart, code } = version
  return (
    <li className="border-b border-line">
      <button
        type="button"
        aria-current={isOpen ? 'true' : undefined}
        onClick={onOpen}
        className={classes(
          'flex w-full flex-col px-4 py-1.5 text-left -outline-offset-2',
          isOpen ? 'bg-accent-soft' : 'hover:bg-panel',
        )}
      >
        <span className="flex w-full items-center gap-2">
          <span className="font-medium">Version {number}</span>
          {isCurrent && <Badge tone="accent">in the editor</Badge>}
          {gatesStart && (
            <span title="No run starts with it until its tests pass" className="text-good">
              <ShieldCheck size={13} role="img" aria-label="Tests gate the start" />
            </span>
          )}
          <span className="ml-auto text-xs text-muted tabular-nums">{formatMoment(createdAt)}</span>
        </span>
        <span className="truncate text-sm text-muted">
          {note === '' ? plural(code.split('\n').length, 'line') : note}
        </span>
      </button>
    </li>
  )
}

function NoteField({ version, onNote }: { version: RewardVersion; onNote: OpenReward['note'] }) {
  const [note, setNote] = useState(version.note)
  const keep = () => {
    if (note.trim() !== version.note) onNote(version, note.trim())
  }
  return (
    <TextInput
      small
      aria-label="Note on this version"
      placeholder="Note: what changed, and why"
      maxLength={2000}
      value={note}
      onChange={setNote}
      onBlur={keep}
      onKeyDown={(event) => event.key === 'Enter' && keep()}
    />
  )
}
