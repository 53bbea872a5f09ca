/** The workbench with code on it: of the library, which is edited and saved, or of the gallery, which is copied. */
import { Copy, ListPlus, Play, Save } from 'lucide-react'
import type { ReactNode } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { keyWords, useKeys } from '#renderer/client/keys.ts'
import { navigate } from '#renderer/client/route.ts'
import { toast } from '#renderer/client/toasts.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { keyTable } from '#shared/keyTable.ts'
import { galleryKey, versionNumber } from '#renderer/parts/rewardLibrary.ts'
import type { GalleryEntry, Reward } from '#renderer/parts/rewardTypes.ts'
import { EditorPane } from './EditorPane.tsx'
import { kinds } from './kinds.tsx'
import { UsedByTab } from './UsedByTab.tsx'
import { useOpenReward, type OpenReward } from './useRewards.ts'
import { VersionsTab } from './VersionsTab.tsx'
import { Count, useView, Workbench, type OpenCode, type WorkbenchTab } from './Workbench.tsx'

interface OwnWorkbenchProps {
  readonly reward: Reward
  readonly models: readonly string[]
  readonly library: ReactNode
}

export function OwnWorkbench({ reward: { id, kind, name }, models, library }: OwnWorkbenchProps) {
  const own = useOpenReward(id)
  const { data: uses } = useAnswer('rewards.usedBy', { rewardId: id })
  const view = useView()
  const { useTrial, isTall, editorLabel, isTrainedWith } = kinds[kind]
  const open: OpenCode = { key: id, code: own.code, own, examples: [], models, view }
  const { button, ...trial } = useTrial(open)
  const save = () => void saveVersion(own)
  useKeys({ save })
  const used: WorkbenchTab = {
    tab: {
      id: 'used-by',
      label: 'Used by',
      mark: <Count of={new Set(uses?.map(({ runId }) => runId)).size} />,
    },
    content: <UsedByTab rewardId={id} kind={kind} versions={own.versions} uses={uses} />,
  }
  const versions: WorkbenchTab = {
    tab: { id: 'versions', label: 'Versions', mark: <Count of={own.versions.length} /> },
    content: <VersionsTab open={own} />,
  }
  return (
    <Workbench
      title={name}
      about={<About open={own} />}
      actions={
        <>
          <Button
            icon={Save}
            disabled={!canSave(own)}
            title={`Save as a version (${keyWords(keyTable.save.keys[0] ?? '')})`}
            onClick={save}
          >
            Save
          </Button>
          {isTrainedWith && <TrainButton rewardId={id} open={own} isMain={button === null} />}
        </>
      }
      editor={
        <EditorPane {...{ open, trial }} label={editorLabel} onSave={save} about={<Changes open={own} />} />
      }
      trial={{ ...trial, button: button && { title: keyWords(keyTable.act.keys[0] ?? ''), ...button } }}
      tabs={[versions, used]}
      opening={own}
      {...{ library, view, isTall }}
    />
  )
}

export interface GalleryWorkbenchProps {
  readonly entry: GalleryEntry
  readonly models: readonly string[]
  readonly library: ReactNode
  readonly onCopy: () => void
}

/** Gallery code, which can be read and tried as it is, and copied to be changed. */
export function GalleryWorkbench({ entry, models, library, onCopy }: GalleryWorkbenchProps) {
  const { kind, title, description, language, code, examples } = entry
  const view = useView()
  const { useTrial, isTall, editorLabel } = kinds[kind]
  const open: OpenCode = {
    key: galleryKey(entry),
    code: { language: language ?? 'ts', code: code ?? '' },
    own: null,
    examples,
    models,
    view,
  }
  const trial = useTrial(open)
  return (
    <Workbench
      title={title}
      about={
        <>
          <Badge>Built-in</Badge>
          <span className="truncate" title={description}>
            {description}
          </span>
        </>
      }
      actions={
        <Button variant={trial.button === null ? 'primary' : 'plain'} icon={Copy} onClick={onCopy}>
          Make a copy
        </Button>
      }
      editor={
        <EditorPane
          {...{ open, trial }}
          label={editorLabel}
          about={<span>Read only: make a copy to change it</span>}
        />
      }
      {...{ library, trial, view, isTall }}
    />
  )
}

interface TrainButtonProps {
  readonly rewardId: string
  readonly open: OpenReward
  readonly isMain: boolean
}

const TrainButton = ({ rewardId, open, isMain }: TrainButtonProps) => (
  <Button
    variant={isMain ? 'primary' : 'plain'}
    icon={isMain ? Play : ListPlus}
    disabled={open.versions.length === 0}
    title="A new run with the newest version"
    onClick={() => navigate('/new-run', { reward: rewardId })}
  >
    Train with it
  </Button>
)

const canSave = ({ version, isSaving, isLoaded }: OpenReward): boolean =>
  version === null && !isSaving && isLoaded

/** Saves a version and moves the gate to it. */
async function saveVersion(open: OpenReward): Promise<void> {
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
function Changes({ open: { version, versions, discard } }: { open: OpenReward }) {
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
