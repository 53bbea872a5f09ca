import { useMemo, useState, type ReactNode } from 'react'
import { useRoute } from '#renderer/client/route.ts'
import { useRun, useRuns, useWorkerOf, type RunEntry, type RunView } from '#renderer/client/runs.ts'
import { plural, formatDuration, formatNumber } from '#renderer/client/format.ts'
import { phaseWords } from '#renderer/client/words.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { askAboutKeys } from '#renderer/client/keyQuestion.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Page, NotFound } from '#renderer/kit/Page.tsx'
import { Loading, ErrorNote } from '#renderer/kit/states.tsx'
import { Tabs, type Tab } from '#renderer/kit/Tabs.tsx'
import { PythonConsent } from '#renderer/parts/PythonConsent.tsx'
import { SamplesTab } from '#renderer/features/samples/SamplesTab.tsx'
import {
  configAfter,
  goToTab,
  runTabs,
  useDiagnosis,
  useRunConfig,
  type RunTab,
  useSlowPace,
} from '#renderer/parts/useRun.ts'
import { ChangeDialog } from './ChangeDialog.tsx'
import { CheckpointsTab } from './CheckpointsTab.tsx'
import { ConfigTab } from './ConfigTab.tsx'
import { DiagnosisTab } from './DiagnosisTab.tsx'
import { ForkDialog, type ForkProposal } from './ForkDialog.tsx'
import { LogTab } from './LogTab.tsx'
import { OverviewTab } from './OverviewTab.tsx'
import { deviceOf } from '#renderer/parts/runFacts.ts'
import { AgentAddress } from './AgentAddress.tsx'
import { RunActions, RunFacts, RunName, useResume } from './RunHeader.tsx'
import { Hourglass, Play, TriangleAlert } from 'lucide-react'
import { labelOf } from '#shared/config/fields.ts'
import { withChanges } from '#shared/config/paths.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { useAnswer, useCommand } from '#renderer/client/api.tsx'
import { classes } from '#renderer/kit/classes.ts'
import { memoryProposals, type MemoryProposal } from './forkChanges.ts'

/** One run: /runs/run_…/samples. */
export function RunScreen() {
  const { rest } = useRoute()
  return <RunPage runId={rest[0] ?? ''} tab={rest[1]} />
}

/* The page of one run. Reading guide: `RunHeader.tsx` names it and steers it, `RunNotices.tsx` says what went wrong and
 * the way out, then one tab each: `OverviewTab` (charts, planned by `chartPlan.ts`), `../samples/SamplesTab`,
 * `DiagnosisTab`, `CheckpointsTab`, `ConfigTab`, `LogTab`. `ForkDialog.tsx` is shared by those that propose a change; `ChangeDialog.tsx` changes
 * this run where it goes on. */

interface RunPageProps {
  readonly runId: string
  /** Tab of the address; anything else shows the overview. */
  readonly tab?: string | undefined
}

function RunPage({ runId, tab }: RunPageProps) {
  const { isLoaded } = useRuns()
  const view = useRun(runId)
  if (view.run !== undefined) return <KnownRun key={runId} run={view.run} view={view} tab={tabOf(tab)} />
  if (isLoaded) return <NoRun />
  return (
    <Page isFull title="…">
      <Loading label="Reading the history" shape="panels" />
    </Page>
  )
}

const tabOf = (tab: string | undefined): RunTab => runTabs.find((known) => known === tab) ?? 'overview'

const NoRun = () => (
  <NotFound what="run" to="/runs" others="runs">
    It may have been deleted, or its folder moved to another place.
  </NotFound>
)

interface KnownProps {
  readonly run: RunEntry
  readonly view: RunView
  readonly tab: RunTab
}

function KnownRun({ run, view, tab }: KnownProps) {
  const { query } = useRoute()
  const { record, config } = useRunConfig(run.id)
  const diagnosis = useDiagnosis(run)
  const [proposal, setProposal] = useState<ForkProposal | null>(null)
  const [isChanging, setChanging] = useState(false)
  const findings = diagnosis.data?.findings
  const serious = useMemo(() => (findings ?? []).filter(({ severity }) => severity !== 'note'), [findings])
  const go = (to: RunTab) =>
    goToTab(run.id, to, to === 'samples' || tab === 'samples' ? keptQuery(query) : {})
  const worker = useWorkerOf(run.id)
  // A fork continues as this run did from its checkpoint.
  const parent = proposal && configAfter(record?.config, run.settingChanges, proposal.step)
  const shown = {
    overview: <OverviewTab run={run} config={config} events={view.events} findings={serious} />,
    samples: <SamplesTab run={run} config={config} events={view.events} />,
    diagnosis: <DiagnosisTab run={run} config={config} diagnosis={diagnosis} onFork={setProposal} />,
    checkpoints: <CheckpointsTab run={run} config={config} onFork={setProposal} />,
    config: <ConfigTab run={run} record={record} config={config} />,
    log: <LogTab run={run} events={view.events} />,
  } satisfies Record<RunTab, ReactNode>
  return (
    <Page
      title={<RunName run={run} />}
      about={<RunFacts run={run} config={config} device={deviceOf(view.events)} />}
      main={<RunActions run={run} onFork={setProposal} onChange={() => setChanging(true)} />}
      isFull
    >
      <p role="status" className="sr-only">
        {worker === undefined ? '' : phaseWords(run.phase, worker)}
        {serious.length === 0 ? '' : ` ${plural(serious.length, 'finding')} in the diagnosis.`}
      </p>
      <RunNotices run={run} config={config} tab={tab} onFork={setProposal} />
      {worker !== undefined && <AgentAddress events={view.events} />}
      <Tabs
        label="Parts of the run"
        tabs={tabsOf(serious)}
        value={tab}
        onChange={go}
        isPage
        className={tab === 'samples' || tab === 'log' ? 'flex flex-col overflow-hidden' : ''}
      >
        {shown[tab]}
      </Tabs>
      {proposal !== null && parent !== null && (
        <ForkDialog run={run} config={parent} proposal={proposal} onClose={() => setProposal(null)} />
      )}
      {isChanging && config !== null && (
        <ChangeDialog run={run} config={config} onClose={() => setChanging(false)} />
      )}
    </Page>
  )
}

const titles: Readonly<Record<RunTab, string>> = {
  overview: 'Overview',
  samples: 'Samples',
  diagnosis: 'Diagnosis',
  checkpoints: 'Checkpoints',
  config: 'Config',
  log: 'Log',
}

function tabsOf(findings: readonly { readonly severity: string }[]): readonly Tab<RunTab>[] {
  const isBroken = findings.some(({ severity }) => severity === 'problem')
  const mark = findings.length > 0 && <Badge tone={isBroken ? 'bad' : 'caution'}>{findings.length}</Badge>
  return runTabs.map((id) => ({ id, label: titles[id], ...(id === 'diagnosis' && mark ? { mark } : {}) }))
}

/** Keeps a pinned step between charts and samples. */
const keptQuery = (query: URLSearchParams) => ({ step: query.get('step') })

interface Props {
  readonly run: RunEntry
  readonly config: RunConfig | null
  readonly onFork: (proposal: ForkProposal) => void
}

interface NoticesProps extends Props {
  readonly tab: RunTab
}

/** Notices that need attention: why a run ended and what is safe, or that it has become slow. */
function RunNotices({ run, config, tab, onFork }: NoticesProps) {
  const isOver =
    useWorkerOf(run.id) === undefined &&
    (run.status === 'failed' || run.status === 'interrupted') &&
    // A run ended because it was ruined would only continue from that state.
    run.error?.code !== 'run/destroyed'
  return (
    <div className="flex shrink-0 flex-col gap-2 px-page not-empty:py-3">
      {isOver && <Ended run={run} config={config} onFork={onFork} />}
      <Finding run={run} tab={tab} />
      <Slow run={run} />
    </div>
  )
}

/** Shows the run's own finding unless the diagnosis is shown below, and whether it ended the run. */
function Finding({ run: { id, finding, error, step }, tab }: { run: RunEntry; tab: RunTab }) {
  const wasEnded = error?.code === 'run/destroyed'
  const isDiagnosis = tab === 'diagnosis'
  if (finding === null || (isDiagnosis && !wasEnded)) return null
  const isProblem = finding.severity === 'problem'
  return (
    <div
      role="alert"
      className={classes(
        'flex items-center gap-2 rounded border border-line px-3 py-2',
        isProblem ? 'bg-bad-soft' : 'bg-caution-soft',
      )}
    >
      <TriangleAlert
        size={15}
        aria-hidden
        className={classes('shrink-0', isProblem ? 'text-bad' : 'text-caution')}
      />
      <p className="min-w-0 grow text-pretty">
        {wasEnded
          ? // Below stands what was found.
            `${isDiagnosis ? `Stopped after step ${String(step)} as “${labelOf('diagnosis.stopOn')}” asks.` : error.message} ${error.hint ?? ''}`
          : finding.words}
      </p>
      {!isDiagnosis && (
        <Button small onClick={() => goToTab(id, 'diagnosis')}>
          Show diagnosis
        </Button>
      )}
    </div>
  )
}

function MissingKeys({ runId }: { readonly runId: string }) {
  const { data: keys = [] } = useAnswer('keys.missing', { runId }, { staleMs: 0 })
  return keys.length === 0 ? null : <Button onClick={() => askAboutKeys(keys)}>Allow keys…</Button>
}

function Ended({ run, config, onFork }: Props) {
  const resume = useResume()
  const { data: checkpoints } = useAnswer('checkpoints.list', { runId: run.id })
  const whole = (checkpoints ?? []).filter(({ problem }) => problem === null)
  const newest = whole.at(-1)
  const isMemory = run.error?.code === 'runtime/out-of-memory' || run.error?.code === 'runtime/killed'
  const safe = checkpoints === undefined ? null : safeWords(newest?.step)
  return (
    <>
      <ErrorNote
        error={told(run, safe)}
        action={
          <span className="flex shrink-0 gap-2">
            <Button variant="quiet" onClick={() => goToTab(run.id, 'log')}>
              Show log
            </Button>
            {run.error?.code === 'python/not-allowed' && <PythonConsent asked={{ runId: run.id }} />}
            {run.error?.code === 'key/not-allowed' && <MissingKeys runId={run.id} />}
            <Button
              icon={Play}
              disabled={resume.isRunning}
              onClick={() => void resume.run({ runId: run.id })}
            >
              {newest === undefined ? 'Start again' : `Resume from ${String(newest.step)}`}
            </Button>
          </span>
        }
      />
      {isMemory && config !== null && (
        <MemoryHelp run={run} config={config} step={newest?.step ?? null} onFork={onFork} />
      )}
    </>
  )
}

function told({ error, stderrTail, step }: RunEntry, safe: string | null) {
  return {
    message: error?.message ?? `The training process ended unexpectedly after step ${String(step)}.`,
    hint: [safe, error?.hint ?? lastLineOf(stderrTail)].filter(Boolean).join(' '),
    code: [error?.code, stderrTail].filter(Boolean).join('\n'),
  }
}

const safeWords = (step: number | undefined): string =>
  step === undefined
    ? 'No checkpoint was kept yet; a resumed run begins from the start.'
    : `Checkpoint ${String(step)} is complete; nothing before it is lost.`

/** Returns the line most likely to give the reason. */
function lastLineOf(words: string | null): string | null {
  const lines = (words ?? '').split('\n').filter((line) => line.trim() !== '')
  const line = lines.findLast((candidate) => /error|killed|signal|abort/i.test(candidate)) ?? lines.at(-1)
  return line === undefined ? null : `Last output: ${line.trim().slice(0, 300)}`
}

interface MemoryProps {
  readonly run: RunEntry
  readonly config: RunConfig
  /** Step of the newest complete checkpoint. */
  readonly step: number | null
  readonly onFork: (proposal: ForkProposal) => void
}

/** Proposes ways to use less memory, the cheapest first. */
function MemoryHelp({ run, config, step, onFork }: MemoryProps) {
  const start = useCommand('runs.start', { onDone: ({ runId }) => goToTab(runId, 'overview') })
  const apply = ({ changes }: MemoryProposal) => {
    if (step !== null) onFork({ step, changes })
    else void start.run({ config: withChanges(config, changes) as RunConfig, tags: [...run.tags] })
  }
  const proposals = memoryProposals(config).slice(0, 3)
  if (proposals.length === 0) return null
  return (
    <ul aria-label="Use less memory" className="flex flex-col rounded border border-line bg-panel">
      {proposals.map((proposal, i) => (
        <li
          key={proposal.words}
          className="flex items-center gap-3 border-line px-3 py-1.5 not-first:border-t"
        >
          <span className="min-w-0 grow">
            {proposal.words} <span className="text-muted">{proposal.price}</span>
          </span>
          <Button
            small
            variant={i === 0 ? 'primary' : 'plain'}
            disabled={start.isRunning}
            onClick={() => apply(proposal)}
          >
            {step === null ? 'Start over with it' : 'Apply as a fork'}
          </Button>
        </li>
      ))}
    </ul>
  )
}

function Slow({ run }: { run: RunEntry }) {
  const pace = useSlowPace(run)
  const worker = useWorkerOf(run.id)
  if (run.status !== 'running' || (pace === null && worker?.isSilent !== true)) return null
  const doing = phaseWords(run.phase, worker).toLowerCase()
  const words =
    pace === null
      ? 'The training process is not responding.'
      : `No progress for ${formatDuration(pace.sinceMs)}, ${formatNumber(pace.times, 2)} times a typical step. It is still ${doing}, at step ${String(run.step + 1)}.`
  return (
    <div
      role="status"
      className="flex items-center gap-2 rounded border border-line bg-caution-soft px-3 py-2"
    >
      <Hourglass size={15} aria-hidden className="shrink-0 text-caution" />
      <p className="min-w-0 grow">
        {words}{' '}
        <span className="text-muted">
          The cause may be a long completion, a slow reward or too little memory; checkpoints are safe.
        </span>
      </p>
      <Button small onClick={() => goToTab(run.id, 'log')}>
        Show log
      </Button>
    </div>
  )
}
