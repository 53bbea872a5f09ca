import { ConfigMenu } from './ConfigMenu.tsx'
import { RunAside } from './RunAside.tsx'
import { isMissing, type StepId } from './problems.ts'
import { Page } from '#renderer/kit/Page.tsx'
import { Loading } from '#renderer/kit/states.tsx'
import { useNewRunStore, usePutAside, type PutAside } from './useDraft.ts'
import { headOf, useWizard, type Wizard } from './useWizard.ts'
import { CheckStep } from './CheckStep.tsx'
import { DataStep } from './DataStep.tsx'
import { MethodStep } from './MethodStep.tsx'
import { ModelStep, RewardStep } from './ModelStep.tsx'
import { Check, ChevronDown, ChevronRight, ListPlus, Play } from 'lucide-react'
import { useId, type ReactNode } from 'react'
import { plural } from '#renderer/client/format.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { keyTable } from '#shared/keyTable.ts'
import { keyWords } from '#renderer/client/keys.ts'
import { Menu } from '#renderer/kit/Menu.tsx'
import { Segmented } from '#renderer/kit/choices.tsx'
import type { Draft } from './draft.ts'
import { StudyStep } from './StudyStep.tsx'
import { draftKinds, type DraftKind } from './studyDraft.ts'
import { kindTitles, kindWords } from '#renderer/parts/studyWords.ts'
import { dataWords, modelWords, type Known } from './summaries.ts'

const titles: Readonly<Record<StepId, string>> = {
  model: 'Model',
  data: 'Data',
  reward: 'Reward',
  method: 'Method',
  study: 'Study',
  check: 'Check',
}

/** Sets up a run, or a study of several, in steps that stay visible. */
export function NewRunScreen() {
  const wizard = useWizard()
  const aside = usePutAside()
  const isFromElsewhere = useNewRunStore((state) => state.isFromElsewhere)
  const { draft, known, verdict, trial, setDraft } = wizard
  if (!wizard.isReady) {
    return (
      <Page>
        <Loading shape="cards" />
      </Page>
    )
  }
  return (
    <Page
      title={draft.fork === null ? undefined : 'Fork a run'}
      about={draft.fork === null ? undefined : `${wizard.parentName} · step ${String(draft.fork.step)}`}
      main={<MainButtons wizard={wizard} />}
    >
      {isFromElsewhere && (
        <p role="status" className="mb-4 text-muted">
          Just changed in another tab or window: these are the newer settings.
        </p>
      )}
      <PutAsideDrafts aside={aside} known={known} />
      {draft.fork === null && <KindChooser kind={wizard.kind} onChange={wizard.setKind} />}
      <div className="grid grid-cols-[minmax(0,1fr)_minmax(280px,22%)] gap-6 narrow:grid-cols-[minmax(0,1fr)]">
        <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-2">
          <Steps wizard={wizard} />
        </div>
        <div className="sticky top-0 self-start narrow:static narrow:self-auto">
          <RunAside
            {...{ draft, known, verdict }}
            estimate={trial.isCurrent ? trial.study : null}
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

/** Buttons for the settings as a whole: as a file, as a check, as a run. */
const MainButtons = ({ wizard }: { wizard: Wizard }) => (
  <>
    <ConfigMenu
      config={wizard.draft.config}
      name={wizard.name}
      isFork={wizard.draft.fork !== null}
      fields={wizard.known.fields}
      onOpen={wizard.open}
      onClear={wizard.clear}
    />
    <StartButtons
      kind={wizard.kind}
      isChecked={wizard.trial.isCurrent}
      isValid={wizard.isValid}
      isChecking={wizard.trial.state === 'running'}
      isStarting={wizard.isStarting}
      onMain={wizard.act}
      onStart={wizard.start}
    />
  </>
)

const isChosen = ({ id, summary }: Wizard['steps'][number], { trial }: Wizard): boolean =>
  id === 'check' ? trial.isCurrent : summary !== null

/** All steps, each with its summary once it is done; its defaults are no choice while a step before is open. */
const Steps = ({ wizard }: { wizard: Wizard }) =>
  wizard.steps.map(({ id, summary, next }, i) => (
    <StepPanel
      key={id}
      headId={headOf(id)}
      number={i + 1}
      title={id === 'study' ? kindTitles[wizard.kind] : titles[id]}
      summary={summary}
      isDone={wizard.steps.slice(0, i + 1).every((each) => isChosen(each, wizard))}
      {...(id === 'check' ? { emptyWords: 'Not run yet' } : {})}
      isOpen={wizard.isOpen(id)}
      onToggle={() => wizard.toggle(id)}
      problems={wizard.problemsOf(id).filter((problem) => !isMissing(problem)).length}
      onContinue={next === null ? undefined : () => wizard.goOn(id, next)}
    >
      <StepContent id={id} wizard={wizard} />
    </StepPanel>
  ))

const KindChooser = ({ kind, onChange }: { kind: DraftKind; onChange: (kind: DraftKind) => void }) => (
  <div className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-1">
    <Segmented
      label="What to start"
      value={kind}
      options={draftKinds.map((each) => ({ value: each, label: kindTitles[each] }))}
      onChange={onChange}
    />
    {kind !== 'run' && <p className="min-w-0 text-muted text-pretty">{kindWords[kind]}</p>}
  </div>
)

function StepContent({ id, wizard }: { id: StepId; wizard: Wizard }) {
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
    case 'study':
      return <StudyStep draft={draft} known={known} problems={problems} onChange={setDraft} />
    case 'check':
      return <CheckStep {...{ verdict, trial, problems }} isComplete={wizard.missing.length === 0} />
  }
}

interface StepPanelProps {
  /** Id of its head, for scrolling there. */
  readonly headId: string
  /** Starts at 1. */
  readonly number: number
  readonly title: string
  /** Choices in one line; null: none yet. */
  readonly summary: string | null
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly emptyWords?: string
  readonly isDone: boolean
  /** Number of errors found by the host. */
  readonly problems: number
  readonly onContinue?: (() => void) | undefined
  readonly children: ReactNode
}

/** One step, with a head that always shows its summary. */
function StepPanel(props: StepPanelProps) {
  const { number, title, summary, isDone, isOpen, onToggle, problems, onContinue, children } = props
  const { emptyWords = 'Not chosen yet' } = props
  const id = useId()
  const { headId } = props
  const Chevron = isOpen ? ChevronDown : ChevronRight
  return (
    <section aria-labelledby={id} className="rounded border border-line bg-bg">
      <h2 id={id}>
        <button
          type="button"
          id={headId}
          aria-expanded={isOpen}
          onClick={onToggle}
          className="flex min-h-11 w-full items-center gap-3 rounded px-3 py-2 text-left -outline-offset-2 hover:bg-panel"
        >
          <StepMark number={number} isDone={isDone && problems === 0} />
          <span className="w-20 shrink-0 font-medium">{title}</span>
          <span className={classes('min-w-0 grow truncate', summary === null ? 'text-faint' : 'text-muted')}>
            {summary ?? emptyWords}
          </span>
          {problems > 0 && <Badge tone="bad">{plural(problems, 'problem')}</Badge>}
          <Chevron size={14} aria-hidden className="shrink-0 text-faint" />
        </button>
      </h2>
      {isOpen && (
        <div className="border-t border-line p-4 pl-12 narrow:px-3">
          {children}
          {onContinue !== undefined && (
            <div className="mt-4 flex justify-end">
              <Button onClick={onContinue}>Continue</Button>
            </div>
          )}
        </div>
      )}
    </section>
  )
}

const StepMark = ({ number, isDone }: { number: number; isDone: boolean }) => (
  <span
    className={classes(
      'inline-flex size-6 shrink-0 items-center justify-center rounded-full text-sm font-medium tabular-nums',
      isDone ? 'bg-good-soft text-good' : 'bg-raised text-muted',
    )}
  >
    {isDone ? <Check size={13} aria-label="Chosen" /> : number}
  </span>
)

interface StartButtonsProps {
  readonly kind: DraftKind
  /** True if the current settings have been checked. */
  readonly isChecked: boolean
  readonly isValid: boolean
  readonly isChecking: boolean
  readonly isStarting: boolean
  /** Runs the check, or starts once that is done. */
  readonly onMain: () => void
  readonly onStart: (options: { readonly queue: boolean }) => void
}

/** Main button for the check, then the start; alternatives behind an arrow. */
function StartButtons(props: StartButtonsProps) {
  const { kind, isChecked, isValid, isChecking, isStarting, onMain, onStart } = props
  const isBusy = isChecking || isStarting
  const startWords = `Start ${kind === 'seeds' ? 'runs' : kind}`
  const words = isChecking ? 'Checking' : isStarting ? 'Starting' : isChecked ? startWords : 'Check'
  const queueing = {
    label: isChecked ? 'Put in the queue' : 'Put in the queue without checking',
    icon: ListPlus,
    isDisabled: !isValid || isBusy,
    run: () => onStart({ queue: true }),
  }
  return (
    <div className="flex">
      <Button
        variant="primary"
        disabled={!isValid || isBusy}
        onClick={onMain}
        title={isChecked ? undefined : 'Tries one real group; then the run can start.'}
        className="rounded-r-none"
      >
        {words}
        <kbd className="font-sans text-sm opacity-80">{keyWords(keyTable.act.keys[0] ?? '')}</kbd>
      </Button>
      <Menu
        groups={[
          [
            {
              label: isChecked ? 'Start now' : 'Start without checking',
              icon: Play,
              isDisabled: !isValid || isBusy,
              run: () => onStart({ queue: false }),
            },
            // Trials of a study queue by themselves.
            ...(kind === 'run' ? [queueing] : []),
          ],
        ]}
      >
        <Button
          variant="primary"
          aria-label="Other ways to start"
          disabled={!isValid || isBusy}
          icon={ChevronDown}
          className="rounded-l-none border-l-bg px-1.5"
        />
      </Menu>
    </div>
  )
}

/** Unfinished drafts that were replaced by others. */
function PutAsideDrafts({ aside, known }: { aside: PutAside; known: Known }) {
  if (aside.drafts.length === 0) return null
  return (
    <ul aria-label="Put aside" className="mb-4 divide-y divide-line rounded border border-line bg-panel">
      {aside.drafts.map((draft, i) => (
        <li key={String(i)} className="flex items-center gap-2 py-1.5 pr-2 pl-3">
          <span className="min-w-0 grow truncate text-muted">Put aside: {draftWords(draft, known)}</span>
          <Button small onClick={() => aside.bringBack(draft)}>
            Bring it back
          </Button>
          <Button small variant="quiet" onClick={() => aside.discard(draft)}>
            Discard
          </Button>
        </li>
      ))}
    </ul>
  )
}

const draftWords = ({ config, fork }: Draft, known: Known): string =>
  [
    typeof config['name'] === 'string' ? config['name'] : null,
    fork === null ? null : `fork from step ${String(fork.step)}`,
    modelWords(config, known),
    dataWords(config, known),
  ]
    .filter((words) => words !== null)
    .join(' · ') || 'a run without model and data'
