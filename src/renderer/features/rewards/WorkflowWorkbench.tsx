import { ListPlus, Play } from 'lucide-react'
import { useState, type ReactNode } from 'react'
import { useAnswer } from '#renderer/client/api.tsx'
import { keyWords, useKeys } from '#renderer/client/keys.ts'
import { navigate } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { keyTable } from '#shared/keyTable.ts'
import { Changes, GalleryFrame, OwnFrame, readOnly, saveVersion } from './CodeFrame.tsx'
import { EditorPane } from './EditorPane.tsx'
import { galleryKey } from '../../parts/rewardLibrary.ts'
import { usedByTab, versionsTab } from './ownTabs.tsx'
import { TrialPane } from './TrialPane.tsx'
import { TryTab } from './TryTab.tsx'
import type { Code, GalleryEntry, Reward } from '../../parts/rewardTypes.ts'
import { useOpenReward } from './useRewards.ts'
import { useWorkflow, type WorkflowTrial } from './useWorkflow.ts'
import { Workbench, type WorkbenchTab } from './Workbench.tsx'

export function OwnWorkflow({ workflow, library }: { workflow: Reward; library: ReactNode }) {
  const open = useOpenReward(workflow.id)
  const { data: uses } = useAnswer('rewards.usedBy', { rewardId: workflow.id })
  const bench = useWorkflowBench(workflow.id, open.code)
  return (
    <OwnFrame
      {...{ reward: workflow, open, library }}
      main={
        <>
          <Button
            icon={<ListPlus size={14} aria-hidden />}
            disabled={open.versions.length === 0}
            title="A new run with the newest version"
            onClick={() => navigate('/new-run', { reward: workflow.id })}
          >
            Train with it
          </Button>
          {bench.playButton}
        </>
      }
    >
      <WorkflowBench
        {...bench}
        workflowKey={workflow.id}
        code={open.code}
        about={<Changes open={open} />}
        onChange={open.change}
        onSave={() => void saveVersion(open)}
        tabs={[versionsTab({ open }), usedByTab({ reward: workflow, open, uses })]}
      />
    </OwnFrame>
  )
}

interface GalleryWorkflowProps {
  readonly entry: GalleryEntry
  readonly library: ReactNode
  readonly onCopy: () => void
}

export function GalleryWorkflow({ entry, library, onCopy }: GalleryWorkflowProps) {
  const code: Code = { language: entry.language ?? 'ts', code: entry.code ?? '' }
  const bench = useWorkflowBench(galleryKey(entry), code)
  return (
    <GalleryFrame {...{ entry, library, onCopy }} main={bench.playButton}>
      <WorkflowBench
        {...bench}
        workflowKey={galleryKey(entry)}
        code={code}
        about={readOnly}
        onChange={null}
        onSave={() => {}}
        tabs={[]}
      />
    </GalleryFrame>
  )
}

function useWorkflowBench(key: string, code: Code) {
  const trial = useWorkflow(key, code)
  const [openTab, setOpenTab] = useState('try')
  const play = () => {
    setOpenTab('try')
    if (trial.missing === null) trial.play()
  }
  useKeys({ act: play })
  const playButton = (
    <Button
      variant="primary"
      icon={<Play size={14} aria-hidden />}
      title={`Play an episode (${keyWords(keyTable.act.keys[0] ?? '')})`}
      onClick={play}
    >
      Play
    </Button>
  )
  return { trial, openTab, setOpenTab, play, playButton }
}

interface WorkflowBenchProps {
  readonly workflowKey: string
  readonly code: Code
  readonly trial: WorkflowTrial
  readonly openTab: string
  readonly setOpenTab: (id: string) => void
  readonly play: () => void
  readonly about: ReactNode
  /** Null for read-only gallery code. */
  readonly onChange: ((code: Code) => void) | null
  readonly onSave: () => void
  /** Tabs after the trial. */
  readonly tabs: readonly WorkbenchTab[]
}

/** Code on the left, setup of an episode on the right, the episode below. */
function WorkflowBench(props: WorkflowBenchProps) {
  const { workflowKey, code, trial, openTab, setOpenTab, play, about, onChange, onSave, tabs } = props
  return (
    <Workbench
      editor={
        <EditorPane
          rewardKey={workflowKey}
          label="Workflow code"
          code={code}
          status={trial.status}
          problems={trial.problems}
          goTo={null}
          context={trial.context}
          onChange={onChange}
          onRun={play}
          onSave={onSave}
          about={about}
        />
      }
      rows={<TrialPane trial={trial} />}
      tabs={[{ tab: { id: 'try', label: 'Try' }, content: <TryTab trial={trial} /> }, ...tabs]}
      openTab={openTab}
      onOpenTab={setOpenTab}
      isTall
    />
  )
}
