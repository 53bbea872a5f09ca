/** Descriptions of the kinds of code in the library: their words, and how each is tried. */
import { Blocks, Braces, Gamepad2, Sigma, Workflow, type LucideIcon } from 'lucide-react'
import { keyWords } from '#renderer/client/keys.ts'
import { keyTable } from '#shared/keyTable.ts'
import type { RewardKind } from '#renderer/parts/rewardTypes.ts'
import { ChecksTab } from './ChecksTab.tsx'
import { CurvesTab } from './CurvesTab.tsx'
import { LossPane } from './LossPane.tsx'
import { TrialPane } from './TrialPane.tsx'
import { TryTab } from './TryTab.tsx'
import { faultsOf, useLoss } from './useLoss.ts'
import { useEnvironmentTrial, useRewardTrial } from './useRewardTrial.tsx'
import { useWorkflow } from './useWorkflow.ts'
import { Count, type CodeTrial, type OpenCode } from './Workbench.tsx'

interface Kind {
  readonly title: string
  readonly icon: LucideIcon
  /** Icon of functions without code. */
  readonly builtInIcon: LucideIcon
  readonly editorLabel: string
  /** True if the tabs need as much room as the code. */
  readonly isTall: boolean
  /** True if the page offers a run with the newest version. */
  readonly isTrainedWith: boolean
  /** Hook; what is open must keep its kind. */
  readonly useTrial: (open: OpenCode) => CodeTrial
}

export const kinds: Readonly<Record<RewardKind, Kind>> = {
  reward: {
    title: 'Reward function',
    icon: Braces,
    builtInIcon: Blocks,
    editorLabel: 'Reward code',
    isTall: false,
    isTrainedWith: false,
    useTrial: useRewardTrial,
  },
  environment: {
    title: 'Environment',
    icon: Gamepad2,
    builtInIcon: Gamepad2,
    editorLabel: 'Reward code',
    isTall: false,
    isTrainedWith: false,
    useTrial: useEnvironmentTrial,
  },
  loss: {
    title: 'Loss',
    icon: Sigma,
    builtInIcon: Sigma,
    editorLabel: 'Loss code',
    isTall: false,
    isTrainedWith: true,
    useTrial: useLossTrial,
  },
  workflow: {
    title: 'Workflow',
    icon: Workflow,
    builtInIcon: Workflow,
    editorLabel: 'Workflow code',
    isTall: true,
    isTrainedWith: true,
    useTrial: useWorkflowTrial,
  },
}

function useLossTrial({ key, code, view }: OpenCode): CodeTrial {
  const state = useLoss(key, code)
  const { check, status, problems } = state
  return {
    status,
    problems,
    context: 'loss',
    button: null,
    act: () => view.openTab('checks'),
    pane: <LossPane state={state} />,
    tabs: [
      { tab: { id: 'curves', label: 'Curves' }, content: <CurvesTab state={state} /> },
      {
        tab: { id: 'checks', label: 'Checks', mark: <Count of={faultsOf(check).length} /> },
        content: <ChecksTab check={check} onGoTo={view.goToLine} />,
      },
    ],
  }
}

function useWorkflowTrial({ key, code, view }: OpenCode): CodeTrial {
  const trial = useWorkflow(key, code)
  const { status, problems, context } = trial
  return {
    status,
    problems,
    context,
    act: () => {
      view.openTab('try')
      if (trial.missing === null) trial.play()
    },
    button: { words: 'Play', title: `Play an episode (${keyWords(keyTable.act.keys[0] ?? '')})` },
    pane: <TrialPane trial={trial} />,
    tabs: [{ tab: { id: 'try', label: 'Try' }, content: <TryTab trial={trial} /> }],
  }
}
