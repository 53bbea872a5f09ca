import {
  ArrowRight,
  CircleCheck,
  GitFork,
  Info,
  OctagonAlert,
  TriangleAlert,
  Check as CheckMark,
} from 'lucide-react'
import { findDeclaration, metricLabel } from '#shared/metrics.ts'
import type {
  Evidence,
  Finding,
  FindingSeverity,
  LookAt,
  Proposal,
  Check,
  Diagnosis,
} from '#shared/diagnosis.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer } from '#renderer/client/api.tsx'
import { navigate } from '#renderer/client/route.ts'
import type { RunEntry } from '#renderer/client/runs.ts'
import { formatNumber } from '#renderer/client/format.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { Explained, Help } from '#renderer/kit/Tooltip.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { labelOf } from '#shared/config/fields.ts'
import { goToTab, type DiagnosisState } from '#renderer/parts/useRun.ts'
import type { ForkProposal } from './ForkDialog.tsx'
import { valueText } from '#renderer/client/runSettings.ts'
import { rewardRoute } from '#renderer/parts/runFacts.ts'

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig | null
  readonly diagnosis: DiagnosisState
  readonly onFork: (proposal: ForkProposal) => void
}

/** Problems found in the metrics, their evidence, and what to do about them. */
export function DiagnosisTab({ run, config, diagnosis: { data, error }, onFork }: Props) {
  const checkpoints = useAnswer('checkpoints.list', { runId: run.id }).data ?? []
  const newest = checkpoints.findLast(({ problem }) => problem === null)?.step ?? null
  if (error !== null) return <ErrorNote error={error} className="m-8" />
  if (data === undefined) return <Loading label="Reading the metrics" />
  const isHealthy = data.findings.every(({ severity }) => severity === 'note')
  return (
    <div className="mx-auto flex max-w-240 flex-col gap-3 px-page py-6">
      {isHealthy && (
        <section className="flex gap-3 rounded border border-line bg-bg p-4">
          {beyondLimits(data.checks) === 0 ? (
            <CircleCheck size={18} aria-hidden className="mt-0.5 shrink-0 text-good" />
          ) : (
            <TriangleAlert size={18} aria-hidden className="mt-0.5 shrink-0 text-caution" />
          )}
          <div>
            <h2 className="font-medium">{healthyWords(data)}</h2>
          </div>
        </section>
      )}
      {data.findings.map((finding) => (
        <FindingCard
          key={`${finding.id} ${finding.words}`}
          {...{ finding, newest, onFork }}
          runId={run.id}
          rewards={config?.rewards ?? []}
        />
      ))}
      {data.checks.length > 0 && <CheckList checks={data.checks} />}
    </div>
  )
}

const looks: Readonly<
  Record<FindingSeverity, { readonly Icon: typeof Info; readonly tone: string; readonly name: string }>
> = {
  problem: { Icon: OctagonAlert, tone: 'text-bad', name: 'Problem' },
  warning: { Icon: TriangleAlert, tone: 'text-caution', name: 'Warning' },
  note: { Icon: Info, tone: 'text-muted', name: 'Note' },
}

interface CardProps {
  readonly finding: Finding
  readonly runId: string
  readonly rewards: RunConfig['rewards']
  /** Step of the newest complete checkpoint. */
  readonly newest: number | null
  readonly onFork: (proposal: ForkProposal) => void
}

function FindingCard({ finding, runId, rewards, newest, onFork }: CardProps) {
  const { Icon, tone, name } = looks[finding.severity]
  return (
    <article className="rounded border border-line bg-bg">
      <header className="flex gap-3 p-4">
        <Icon size={18} aria-hidden className={classes('mt-0.5 shrink-0', tone)} />
        <div className="min-w-0">
          <p className={classes('text-sm font-medium', tone)}>{name}</p>
          <h2 className="max-w-160 text-pretty">{finding.words}</h2>
          {finding.evidence.length > 0 && (
            <ul aria-label="Evidence" className="mt-2 flex flex-wrap gap-x-4 gap-y-0.5 text-sm">
              {finding.evidence.map((each) => (
                <EvidenceItem key={`${each.of} ${String(each.fromStep)}`} evidence={each} />
              ))}
            </ul>
          )}
        </div>
      </header>
      {finding.proposals.length > 0 && (
        <ul aria-label="What to do" className="border-t border-line">
          {finding.proposals.map((proposal) => (
            <ProposalItem key={proposal.words} {...{ proposal, runId, rewards, newest, onFork }} />
          ))}
        </ul>
      )}
    </article>
  )
}

function EvidenceItem({ evidence: { of, value, fromStep, toStep } }: { evidence: Evidence }) {
  const explanation = findDeclaration(of)?.explanation
  const label = metricLabel(of)
  return (
    <li className="inline-flex min-h-6 items-center gap-1.5">
      <span className="text-muted" title={of}>
        {label}
      </span>
      {explanation !== undefined && (
        <Help about={label}>
          <Explained name={of}>{explanation}</Explained>
        </Help>
      )}
      <span className="font-mono font-medium tabular-nums">
        {value === null ? 'no number' : formatNumber(value)}
      </span>
      <span className="text-faint">{stepsWords(fromStep, toStep)}</span>
    </li>
  )
}

type ItemProps = Omit<CardProps, 'finding'> & { readonly proposal: Proposal }

function ProposalItem({ proposal, runId, rewards, newest, onFork }: ItemProps) {
  const { words, changes, lookAt } = proposal
  const changed = Object.entries(changes)
  return (
    <li className="flex min-h-10 items-center gap-3 border-line py-1.5 pr-3 pl-11.5 not-first:border-t">
      <div className="min-w-0 grow">
        <p>{words}</p>
        {changed.map(([path, value]) => (
          <p key={path} title={path} className="truncate text-sm text-muted">
            {labelOf(path)} = <span className="font-mono">{valueText(value)}</span>
          </p>
        ))}
      </div>
      {lookAt !== null && <LookButton lookAt={lookAt} runId={runId} rewards={rewards} onFork={onFork} />}
      {changed.length > 0 && (
        <ApplyButton proposal={proposal} runId={runId} newest={newest} onFork={onFork} />
      )}
    </li>
  )
}

/** Applies a proposal in a fork; without a sound checkpoint, in a new run. */
function ApplyButton({
  proposal: { changes, from },
  runId,
  newest,
  onFork,
}: Pick<ItemProps, 'proposal' | 'runId' | 'newest' | 'onFork'>) {
  if (from === 'start') {
    const open = () => navigate('/new-run', { copy: runId, changes: JSON.stringify(changes) })
    return (
      <Button small icon={ArrowRight} onClick={open}>
        Open in New run
      </Button>
    )
  }
  const step = from === 'newest' ? newest : from
  return (
    <Button
      small
      icon={GitFork}
      disabled={step === null}
      title={
        step === null
          ? 'There is no complete checkpoint to fork from yet.'
          : `From checkpoint ${String(step)}`
      }
      onClick={() => step !== null && onFork({ step, changes })}
    >
      {from === 'newest' ? 'Apply as a fork' : `Fork from step ${String(from)}`}
    </Button>
  )
}

interface LookProps {
  readonly lookAt: LookAt
  readonly runId: string
  readonly rewards: RunConfig['rewards']
  readonly onFork: (proposal: ForkProposal) => void
}

function LookButton({ lookAt, runId, rewards, onFork }: LookProps) {
  const [label, go] = lookOf(lookAt, { runId, rewards, onFork })
  return (
    <Button small icon={ArrowRight} onClick={go}>
      {label}
    </Button>
  )
}

type Action = readonly [label: string, go: () => void]

function lookOf(at: LookAt, { runId, rewards, onFork }: Omit<LookProps, 'lookAt'>): Action {
  switch (at.kind) {
    case 'samples':
      return [
        `Look at samples of ${stepsWords(at.fromStep, at.toStep)}`,
        () => goToTab(runId, 'samples', { from: String(at.fromStep), to: String(at.toStep) }),
      ]
    case 'reward':
      return [`Open reward “${at.name}”`, () => navigate(rewardRoute(rewards, at.name))]
    case 'checkpoint':
      return [`Fork from step ${String(at.step)}`, () => onFork({ step: at.step, changes: {} })]
    case 'selftest':
      return ['Open the self-test', () => navigate('/settings/self-test')]
  }
}

/** Lists what was checked, with its value and the threshold of a warning. */
const CheckList = ({ checks }: { checks: readonly Check[] }) => (
  <section className="rounded border border-line bg-bg">
    <h2 className="border-b border-line px-4 py-2 text-sm font-medium text-muted">What was checked</h2>
    <table aria-label="Checks" className="w-full text-sm">
      <thead className="border-b border-line text-left text-muted">
        <tr className="[&>th]:py-1.5 [&>th]:font-medium">
          <th scope="col" className="pl-4">
            Check
          </th>
          <th scope="col" className="px-3 text-right">
            Figure
          </th>
          <th scope="col" className="pl-3">
            Warns when
          </th>
        </tr>
      </thead>
      <tbody>
        {checks.map((check) => (
          <CheckRow key={check.title} check={check} />
        ))}
      </tbody>
    </table>
  </section>
)

function CheckRow({ check }: { check: Check }) {
  const { title, metric, limit, isWithin } = check
  const explanation = metric === null ? undefined : findDeclaration(metric)?.explanation
  return (
    <tr className="border-line not-first:border-t">
      <th scope="row" className="py-1.5 pr-3 pl-4 text-left font-normal">
        <span className="flex items-center gap-2">
          {isWithin ? (
            <CheckMark size={14} aria-label="Within its limit" className="shrink-0 text-good" />
          ) : (
            <TriangleAlert size={14} aria-label="Beyond its limit" className="shrink-0 text-caution" />
          )}
          <span title={metric ?? undefined}>{title}</span>
          {explanation !== undefined && <Help about={title}>{explanation}</Help>}
        </span>
      </th>
      <td className="px-3 text-right font-mono tabular-nums">{checkFigure(check)}</td>
      <td className="py-1.5 pr-4 pl-3 text-faint">{limit}</td>
    </tr>
  )
}

// Summary of the checks if they made no finding.

const stepsWords = (from: number, to: number): string =>
  from === to ? `step ${String(from)}` : `steps ${String(from)}–${String(to)}`

const beyondLimits = (checks: readonly Check[]): number => checks.filter(({ isWithin }) => !isWithin).length

export function healthyWords({
  stage,
  firstStep,
  steps,
  checks,
}: Pick<Diagnosis, 'stage' | 'firstStep' | 'steps' | 'checks'>): string {
  if (steps === 0) return 'No step has finished yet.'
  const where = `${stepsWords(firstStep, firstStep + steps - 1)}${stage === null ? '' : ` of stage ${String(stage + 1)}`}`
  const beyond = beyondLimits(checks)
  if (beyond === 0) return `Nothing looks wrong in ${where}.`
  return `No problem is certain in ${where}, but ${beyond === 1 ? '1 figure is beyond its limit' : `${String(beyond)} figures are beyond their limits`}.`
}

const units: Readonly<Record<Check['unit'], (value: number) => string>> = {
  share: (value) => `${formatNumber(100 * value)} %`,
  nats: (value) => `${formatNumber(value)} nats`,
  reward: formatNumber,
  times: (value) => `${formatNumber(value)} ×`,
  count: formatNumber,
}

/** Formats the value of a check, with the initial one if it matters. */
const checkFigure = ({ before, value, unit }: Check): string =>
  before === null ? units[unit](value) : `${units[unit](before)} → ${units[unit](value)}`
