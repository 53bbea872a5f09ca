import type { Wizard } from './useWizard.ts'
import { CheckStep } from './CheckStep.tsx'
import { DataStep } from './DataStep.tsx'
import { MethodStep } from './MethodStep.tsx'
import { ModelStep } from './ModelStep.tsx'
import type { StepId } from './problems.ts'
import { RewardStep } from './RewardStep.tsx'

/** What is in a step. */
export function StepContent({ id, wizard }: { id: StepId; wizard: Wizard }) {
  const { draft, known, verdict, trial, setDraft, update } = wizard
  const { config } = draft
  const problems = wizard.problemsOf(id)
  switch (id) {
    case 'model':
      return (
        <ModelStep
          config={config}
          isFork={draft.fork !== null}
          problems={problems}
          onModel={wizard.setModel}
          onChange={update}
        />
      )
    case 'data':
      return <DataStep config={config} known={known} problems={problems} onChange={update} />
    case 'reward':
      return (
        <RewardStep
          config={config}
          algorithms={known.algorithms}
          problems={problems}
          columns={wizard.columns}
          onChange={update}
        />
      )
    case 'method':
      return (
        <MethodStep
          draft={draft}
          known={known}
          model={wizard.modelFacts}
          problems={wizard.problems}
          onChange={setDraft}
        />
      )
    case 'check':
      return (
        <CheckStep
          verdict={verdict}
          trial={trial}
          problems={problems}
          isComplete={wizard.missing.length === 0}
        />
      )
  }
}
