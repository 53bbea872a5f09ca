/** Page around any code of the library: name and state, the list, saving of versions. */
import { Copy, Save } from 'lucide-react'
import type { ReactNode } from 'react'
import { keyWords, useKeys } from '#renderer/client/keys.ts'
import { toast } from '#renderer/client/toasts.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { besideClasses } from '#renderer/kit/classes.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { keyTable } from '#shared/keyTable.ts'
import { versionNumber } from '../../parts/rewardLibrary.ts'
import type { GalleryEntry, Reward } from '../../parts/rewardTypes.ts'
import type { OpenReward } from './useRewards.ts'

interface OwnFrameProps {
  readonly reward: Reward
  readonly open: OpenReward
  readonly library: ReactNode
  readonly main: ReactNode
  /** Content once the code is loaded. */
  readonly children: ReactNode
}

export function OwnFrame({ reward, open, library, main, children }: OwnFrameProps) {
  const save = () => void saveVersion(open)
  useKeys({ save })
  return (
    <Page
      isFull
      title={reward.name}
      about={<About open={open} />}
      main={
        <>
          <Button
            icon={<Save size={14} aria-hidden />}
            disabled={!canSave(open)}
            title={`Save as a version (${keyWords(keyTable.save.keys[0] ?? '')})`}
            onClick={save}
          >
            Save
          </Button>
          {main}
        </>
      }
    >
      <div className={besideClasses}>
        {library}
        {open.error !== null && <ErrorNote error={open.error} className="m-4 self-start" />}
        {!open.isLoaded && open.error === null && <Loading label="Opening the code" />}
        {open.isLoaded && children}
      </div>
    </Page>
  )
}

interface GalleryFrameProps {
  readonly entry: GalleryEntry
  readonly library: ReactNode
  readonly onCopy: () => void
  /** Main action; copying if omitted. */
  readonly main?: ReactNode
  readonly children: ReactNode
}

/** Frame of code from the gallery, which can be read, tried and copied. */
export const GalleryFrame = ({ entry, library, onCopy, main, children }: GalleryFrameProps) => (
  <Page
    isFull
    title={entry.title}
    about={
      <>
        <Badge>Built-in</Badge>
        <span className="truncate" title={entry.description}>
          {entry.description}
        </span>
      </>
    }
    main={
      <>
        <Button
          {...(main === undefined ? { variant: 'primary' } : {})}
          icon={<Copy size={14} aria-hidden />}
          onClick={onCopy}
        >
          Make a copy
        </Button>
        {main}
      </>
    }
  >
    <div className={besideClasses}>
      {library}
      {children}
    </div>
  </Page>
)

export const readOnly = <span>Read only: make a copy to change it</span>

const canSave = ({ version, isSaving, isLoaded }: OpenReward): boolean =>
  version === null && !isSaving && isLoaded

/** Saves a version and moves the gate to it. */
export async function saveVersion(open: OpenReward): Promise<void> {
  if (!canSave(open)) return
  const number = open.versions.length + 1
  const saved = await open.save({ gatesStart: open.versions[0]?.gatesStart ?? false })
  if (saved !== undefined) toast({ title: `Version ${String(number)} is saved.`, tone: 'good' })
}

function About({ open: { version, versions, isLoaded } }: { open: OpenReward }) {
  if (!isLoaded) return null
  if (version === null) return <Badge tone="caution">Unsaved changes</Badge>
  return <Badge>version {versionNumber(versions, version.hash)}</Badge>
}

/** Marks unsaved changes, with a way to discard them. */
export function Changes({ open }: { open: OpenReward }) {
  const { version, versions, discard } = open
  const newest = versions.length
  if (version !== null && version.hash === versions[0]?.hash) return <span>Version {newest}</span>
  const words =
    version === null
      ? `Changed since version ${String(newest)}`
      : `Version ${String(versionNumber(versions, version.hash))} of ${String(newest)}`
  return (
    <>
      <span className="truncate">{newest === 0 ? 'Not saved yet' : words}</span>
      {newest > 0 && (
        <Button small variant="quiet" onClick={discard}>
          {version === null ? 'Discard changes' : 'Return to the newest'}
        </Button>
      )}
    </>
  )
}
