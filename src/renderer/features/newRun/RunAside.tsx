import type { Problem } from '#shared/errors.ts'
import { CircleAlert, CircleCheck, LoaderCircle, TriangleAlert } from 'lucide-react'
import { deviceTitles } from '#shared/device.ts'
import type { Knowledge, Verdict } from './useNewRun.ts'
import { formatBytes, formatCount, plural } from '#renderer/client/format.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { link } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { KeyValue, Panel } from '#renderer/kit/Page.tsx'
import { AllowKeys } from './AllowKeys.tsx'
import { checkpointOption } from '#renderer/client/modelChoice.ts'
import { forkChanges, isEmptyDraft, type Draft, type ForkPoint } from './draft.ts'
import { labelOf, valueWords } from '#shared/config/fields.ts'
import { valueAt, withValue } from '#shared/config/paths.ts'
import { openProblems, problemWords, stepOf, type StepId } from './problems.ts'
import { Sentence } from '#renderer/kit/Sentence.tsx'
import { etaWords } from '#renderer/client/live.ts'
import { stagesOf } from './stages.ts'
import type { StudyEstimate } from './useDraft.ts'
import { kindOf, studyLabel } from './studyDraft.ts'
import { batchWords, lengthOfSteps, lengthWords } from './summaries.ts'
import { SelectField } from '#renderer/kit/choices.tsx'
import { TextField } from '#renderer/kit/inputs.tsx'

interface RunAsideProps {
  readonly draft: Draft
  readonly known: Knowledge
  readonly verdict: Verdict
  /** Estimate from the check of the current study; null: not checked, or a single run. */
  readonly estimate: StudyEstimate | null
  readonly missing: readonly StepId[]
  readonly nameHint: string
  readonly parentName: string
  readonly onChange: (draft: Draft) => void
  readonly onShow: (step: StepId) => void
  readonly onSample: () => void
}

const stepTitles: Readonly<Record<StepId, string>> = {
  model: 'Choose a model',
  data: 'Choose data',
  reward: 'Choose a reward',
  method: 'Choose a method',
  study: 'Say how trials differ',
  check: 'Run the check',
}

/** Summary of the run: name, size of one step, and remaining problems. */
export function RunAside(props: RunAsideProps) {
  const { draft, known, verdict, estimate, missing, nameHint, parentName, onChange, onShow, onSample } = props
  const { config, fork } = draft
  const stages = stagesOf(config).length
  const title = kindOf(config) === 'run' ? 'The run' : 'The study'
  return (
    <aside aria-label={title} className="grid gap-4 self-start">
      <Panel title={title}>
        <div className="grid gap-3">
          <TextField
            label="Name"
            value={typeof config['name'] === 'string' ? config['name'] : ''}
            placeholder={nameHint}
            onChange={(name) =>
              onChange({ ...draft, config: withValue(config, 'name', name === '' ? undefined : name) })
            }
          />
          <KeyValue
            entries={[
              stages > 0 ? ['Stages', String(stages)] : ['Each step', batchWords(config, known)],
              ['Length', lengthOf(verdict, config)],
              ...(verdict.study === null ? [] : extentEntries(verdict.study)),
              ...(estimate === null ? [] : estimateEntries(estimate)),
              verdict.rows !== null && ['Rows', formatCount(verdict.rows)],
              ['Seed', valueWords(valueAt(config, 'seed') ?? 42)],
              verdict.device !== null && ['Device', <DeviceWords device={verdict.device} />],
            ]}
          />
          <VerdictLine verdict={verdict} missing={missing} />
          <OpenPoints {...{ verdict, missing, onShow }} />
        </div>
      </Panel>
      {isEmptyDraft(draft) && (
        <div className="rounded border border-line bg-panel p-3">
          <p className="text-muted text-pretty">
            New here? The sample run teaches the starter model five short tasks, offline, in about a minute.
          </p>
          <Button className="mt-2" onClick={onSample}>
            Fill in the sample run
          </Button>
        </div>
      )}
      {fork !== null && <ForkPanel {...{ draft, fork, parentName, onChange }} />}
    </aside>
  )
}

/** Steps that are not done and problems of others, each a way to its place. */
const OpenPoints = ({ verdict, missing, onShow }: Pick<RunAsideProps, 'verdict' | 'missing' | 'onShow'>) => (
  <ul className="-mx-1 grid">
    {missing.map((step) => (
      <li key={step}>
        <button
          type="button"
          onClick={() => onShow(step)}
          className="min-h-6 rounded px-1 text-accent-ink hover:underline"
        >
          {stepTitles[step]}
        </button>
      </li>
    ))}
    {[...openProblems(verdict.problems, missing), ...verdict.warnings].map((problem) => (
      <ProblemLine
        key={`${String(problem.stage)} ${problem.path} ${problem.message}`}
        problem={problem}
        onShow={onShow}
      />
    ))}
  </ul>
)

interface ForkPanelProps extends Pick<RunAsideProps, 'draft' | 'parentName' | 'onChange'> {
  readonly fork: NonNullable<Draft['fork']>
}

const ForkPanel = ({ draft, fork, parentName, onChange }: ForkPanelProps) => (
  <Panel title="Fork">
    <p className="text-muted">
      Continues from a checkpoint of{' '}
      <a href={link(`/runs/${fork.runId}/overview`)} className="text-accent-ink underline">
        {parentName}
      </a>
      , with its adapter, optimizer and position in the data.
    </p>
    <ForkStep fork={fork} onChange={(step) => onChange({ ...draft, fork: { ...fork, step } })} />
    <Differences draft={draft} />
  </Panel>
)

const DeviceWords = ({ device }: { device: NonNullable<Verdict['device']> }) => (
  <>
    {deviceTitles[device.kind]}
    <span className="block text-sm text-muted text-pretty">{device.reason}</span>
  </>
)

/** Total size of a study's trials, and how many train together. */
function extentEntries({ trials, steps, totalSteps, sharing }: NonNullable<Verdict['study']>) {
  const whole = trials * steps
  return [
    ['Trials', formatCount(trials)],
    [
      'All steps',
      <>
        {formatCount(totalSteps)}
        {totalSteps < whole && (
          <span className="block text-sm text-muted">of {formatCount(whole)} without early stopping</span>
        )}
      </>,
    ],
    [
      'Together',
      <span className="text-sm text-muted text-pretty">
        <Sentence text={sharing} />
      </span>,
    ],
  ] as const
}

const estimateEntries = ({ seconds, memory }: StudyEstimate) =>
  [
    ['Time', etaWords({ lowMs: 1000 * seconds.low, highMs: 1000 * seconds.high })],
    ['Memory', `${formatBytes(memory.neededBytes)} of ${formatBytes(memory.availableBytes)} free`],
  ] as const

const lengthOf = ({ steps }: Verdict, config: Draft['config']): string =>
  steps === null || lengthOfSteps(config) === steps
    ? lengthWords(config)
    : `${plural(steps, 'step')} · ${lengthWords(config)}`

function VerdictLine({ verdict, missing }: Pick<RunAsideProps, 'verdict' | 'missing'>) {
  const problems = openProblems(verdict.problems, missing).length
  if (missing.length > 0) return <p className="text-sm text-muted">Still to do:</p>
  if (problems > 0)
    return (
      <p role="status" className="flex items-center gap-1.5 text-sm font-medium text-bad">
        <CircleAlert size={14} aria-hidden />
        {plural(problems, 'problem')}
      </p>
    )
  if (verdict.isPending)
    return (
      <p role="status" className="flex items-center gap-1.5 text-sm text-faint">
        <LoaderCircle size={14} aria-hidden />
        Checking the settings
      </p>
    )
  if (verdict.warnings.length > 0)
    return (
      <p role="status" className="flex items-center gap-1.5 text-sm text-caution">
        <TriangleAlert size={14} aria-hidden />
        {plural(verdict.warnings.length, 'warning')}
      </p>
    )
  return (
    <p role="status" className="flex items-center gap-1.5 text-sm text-good">
      <CircleCheck size={14} aria-hidden />
      The settings fit together
    </p>
  )
}

function ProblemLine({ problem, onShow }: { problem: Problem; onShow: (step: StepId) => void }) {
  const { path, stage, keys } = problem
  const words = <Sentence text={problemWords(problem)} />
  if (keys !== undefined)
    return (
      <li className="grid justify-items-start gap-2 px-1 py-0.5 text-sm break-words text-muted">
        <p className="min-w-0">{words}</p>
        <AllowKeys keys={keys} />
      </li>
    )
  const label = stage === null ? studyLabel(path) : labelOf(`stages[${String(stage)}].${path}`)
  return (
    <li>
      <button
        type="button"
        onClick={() => onShow(stepOf(problem))}
        className="group min-h-6 w-full rounded px-1 text-left text-sm break-words text-accent-ink hover:bg-raised"
      >
        {path === '' ? (
          <span className="group-hover:underline">{words}</span>
        ) : (
          <>
            <span className="font-medium group-hover:underline" title={path}>
              {label}:
            </span>{' '}
            <span className="text-muted">{words}</span>
          </>
        )}
      </button>
    </li>
  )
}

function ForkStep({ fork, onChange }: { fork: ForkPoint; onChange: (step: number) => void }) {
  const { data = [] } = useAnswer('checkpoints.list', { runId: fork.runId })
  const isListed = data.some(({ step }) => step === fork.step)
  return (
    <SelectField
      label="Checkpoint"
      className="mt-2"
      value={String(fork.step)}
      options={[
        ...(isListed ? [] : [{ value: String(fork.step), label: `Step ${String(fork.step)}` }]),
        ...data.map(checkpointOption),
      ]}
      onChange={(step) => onChange(Number(step))}
    />
  )
}

/** Changes of the fork; none: it would repeat its parent. */
function Differences({ draft }: { draft: Draft }) {
  const changes = Object.entries(forkChanges(draft))
  if (changes.length === 0)
    return <p className="mt-2 text-sm text-caution">Nothing changed yet: the fork would repeat its parent.</p>
  return (
    <table className="mt-2 w-full text-sm">
      <caption className="sr-only">What differs from the parent</caption>
      <tbody>
        {changes.map(([key, value]) => (
          <tr key={key} className="border-t border-line align-top">
            <th scope="row" title={key} className="py-1 pr-2 text-left font-normal text-muted">
              {labelOf(key)}
            </th>
            <td className="py-1 text-right break-all">
              <span className="text-faint line-through">{valueWords(valueAt(draft.fork?.parent, key))}</span>{' '}
              <span className="font-medium">{valueWords(value)}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
