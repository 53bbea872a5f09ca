import { Play } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { ChecksTab } from './ChecksTab.tsx'
import { Changes, GalleryFrame, OwnFrame, readOnly, saveVersion } from './CodeFrame.tsx'
import { CurvesTab } from './CurvesTab.tsx'
import { EditorPane } from './EditorPane.tsx'
import { galleryKey } from '../../parts/rewardLibrary.ts'
import { LossPane } from './LossPane.tsx'
import { usedByTab, versionsTab } from './ownTabs.tsx'
import type { Code, GalleryEntry, Reward } from '../../parts/rewardTypes.ts'
import { faultsOf, useLoss, type LossState } from './useLoss.ts'
import { useOpenReward } from './useRewards.ts'
import { Count, Workbench, type WorkbenchTab } from './Workbench.tsx'

export function OwnLoss({ loss, library }: { loss: Reward; library: ReactNode }) {
  const open = useOpenReward(loss.id)
  const { data: uses } = useAnswer('rewards.usedBy', { rewardId: loss.id })
  const state = useLoss(loss.id, open.code)
  const train = () => navigate('/new-run', { reward: loss.id })
  return (
    <OwnFrame
      {...{ reward: loss, open, library }}
      main={
        <Button
          variant="primary"
          icon={<Play size={14} aria-hidden />}
          disabled={open.versions.length === 0}
          title="A new run with the newest version"
          onClick={train}
        >
          Train with it
        </Button>
      }
    >
      <LossBench
        lossKey={loss.id}
        code={open.code}
        state={state}
        about={<Changes open={open} />}
        onChange={open.change}
        onSave={() => void saveVersion(open)}
        tabs={[versionsTab({ open }), usedByTab({ reward: loss, open, uses })]}
      />
    </OwnFrame>
  )
}

interface GalleryLossProps {
  readonly entry: GalleryEntry
  readonly library: ReactNode
  readonly onCopy: () => void
}

/** A built-in algorithm in the form of a custom loss, to read, plot and copy. */
export function GalleryLoss({ entry, library, onCopy }: GalleryLossProps) {
  const code: Code = { language: entry.language ?? 'ts', code: entry.code ?? '' }
  const state = useLoss(galleryKey(entry), code)
  return (
    <GalleryFrame {...{ entry, library, onCopy }}>
      <LossBench
        lossKey={galleryKey(entry)}
        code={code}
        state={state}
        about={readOnly}
        onChange={null}
        onSave={() => {}}
        tabs={[]}
      />
    </GalleryFrame>
  )
}

interface LossBenchProps {
  readonly lossKey: string
  readonly code: Code
  readonly state: LossState
  readonly about: ReactNode
  /** Null for read-only gallery code. */
  readonly onChange: ((code: Code) => void) | null
  readonly onSave: () => void
  /** Tabs after those of every loss. */
  readonly tabs: readonly WorkbenchTab[]
}

/** Code on the left, settings and description on the right, curves and checks below. */
function LossBench({ lossKey, code, state, about, onChange, onSave, tabs }: LossBenchProps) {
  const [openTab, setOpenTab] = useState('curves')
  const [goTo, setGoTo] = useState<{ readonly line: number } | null>(null)
  const faults = faultsOf(state.check).length
  const own: readonly WorkbenchTab[] = [
    { tab: { id: 'curves', label: 'Curves' }, content: <CurvesTab state={state} /> },
    {
      tab: { id: 'checks', label: 'Checks', mark: <Count of={faults} /> },
      content: <ChecksTab check={state.check} onGoTo={(line) => setGoTo({ line })} />,
    },
  ]
  return (
    <Workbench
      editor={
        <EditorPane
          rewardKey={lossKey}
          label="Loss code"
          code={code}
          status={state.status}
          problems={state.problems}
          goTo={goTo}
          context="loss"
          onChange={onChange}
          onRun={() => setOpenTab('checks')}
          onSave={onSave}
          about={about}
        />
      }
      rows={<LossPane state={state} />}
      tabs={[...own, ...tabs]}
      openTab={openTab}
      onOpenTab={setOpenTab}
    />
  )
}
