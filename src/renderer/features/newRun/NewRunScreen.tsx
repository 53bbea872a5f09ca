import { ConfigMenu } from './ConfigMenu.tsx'
import { PutAsideDrafts } from './PutAsideDrafts.tsx'
import { RunAside } from './RunAside.tsx'
import { StartButtons } from './StartButtons.tsx'
import { StepContent } from './StepContent.tsx'
import { StepPanel } from './StepPanel.tsx'
import { isMissing, type StepId } from './problems.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { Loading } from '#renderer/kit/states.tsx'
import { useNewRunStore, usePutAside } from './useDraft.ts'
import { headOf, useWizard } from './useWizard.ts'

const titles: Readonly<Record<StepId, string>> = {
  model: 'Model',
  data: 'Data',
  reward: 'Reward',
  method: 'Method',
  check: 'Check',
}

/** Sets up a run in five steps that stay visible. */
export function NewRunScreen() {
  const wizard = useWizard()
  const aside = usePutAside()
  const isFromElsewhere = useNewRunStore((state) => state.isFromElsewhere)
  const { draft, known, verdict, trial, setDraft } = wizard
  const { config } = draft
  if (!wizard.isReady) {
    return (
      <Page title="New run">
        <Loading />
      </Page>
    )
  }
  return (
    <Page
      title={draft.fork === null ? 'New run' : 'Fork a run'}
      about={draft.fork === null ? undefined : `${wizard.parentName} · step ${String(draft.fork.step)}`}
      main={
        <>
          <ConfigMenu
            config={config}
            name={wizard.name}
            isFork={draft.fork !== null}
            fields={known.fields}
            onOpen={wizard.open}
            onClear={wizard.clear}
          />
          <StartButtons
            isChecked={trial.isCurrent}
            isValid={wizard.isValid}
            isChecking={trial.state === 'running'}
            isStarting={wizard.isStarting}
            onMain={wizard.act}
            onStart={wizard.start}
          />
        </>
      }
    >
      {isFromElsewhere && (
        <p role="status" className="mb-4 text-muted">
          Changed in another tab or window just now: these are the newer settings.
        </p>
      )}
      <PutAsideDrafts aside={aside} known={known} />
      <div className="grid grid-cols-[minmax(0,1fr)_minmax(280px,22%)] gap-6 narrow:grid-cols-[minmax(0,1fr)]">
        <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-2">
          {wizard.steps.map(({ id, summary, next }, i) => (
            <StepPanel
              key={id}
              headId={headOf(id)}
              number={i + 1}
              title={titles[id]}
              summary={summary}
              isDone={id === 'check' ? trial.isCurrent : summary !== null}
              {...(id === 'check' ? { emptyWords: 'Not run yet' } : {})}
              isOpen={wizard.isOpen(id)}
              onToggle={() => wizard.toggle(id)}
              problems={wizard.problemsOf(id).filter((problem) => !isMissing(problem)).length}
              onContinue={next === null ? undefined : () => wizard.goOn(id, next)}
            >
              <StepContent id={id} wizard={wizard} />
            </StepPanel>
          ))}
        </div>
        <div className="sticky top-0 self-start narrow:static narrow:self-auto">
          <RunAside
            draft={draft}
            known={known}
            verdict={verdict}
            missing={wizard.missing}
            nameHint={wizard.name}
            parentName={wizard.parentName}
            onChange={setDraft}
            onShow={wizard.show}
            onSample={wizard.sample}
          />
        </div>
      </div>
    </Page>
  )
}
