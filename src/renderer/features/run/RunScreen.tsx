import { useMemo, useState, type ReactNode } from 'react'
import { useRoute, navigate } from '#renderer/client/route.ts'
import { useRun, useRuns, useWorkerOf, type RunEntry, type RunView } from '#renderer/client/runs.ts'
import { plural } from '#renderer/client/format.ts'
import { phaseWords } from '#renderer/client/words.ts'
import { Badge } from '#renderer/kit/Badge.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { EmptyState, Loading } from '#renderer/kit/states.tsx'
import { Tabs, type Tab } from '#renderer/kit/Tabs.tsx'
import { SamplesTab } from '#renderer/features/samples/SamplesTab.tsx'
import { goToTab, runTabs, useDiagnosis, useRunConfig, type RunTab } from './useRun.ts'
import { CheckpointsTab } from './CheckpointsTab.tsx'
import { ConfigTab } from './ConfigTab.tsx'
import { DiagnosisTab } from './DiagnosisTab.tsx'
import { ForkDialog, type ForkWish } from './ForkDialog.tsx'
import { LogTab } from './LogTab.tsx'
import { OverviewTab } from './OverviewTab.tsx'
import { deviceOf } from './runFacts.ts'
import { RunActions, RunFacts, RunName } from './RunHeader.tsx'
import { RunNotices } from './RunNotices.tsx'

/** One run: /runs/run_…/samples. */
export function RunScreen() {
  const { path } = useRoute()
  return <RunPage runId={path[1] ?? ''} tab={path[2]} />
}

/* The page of one run. Reading guide: `RunHeader.tsx` names it and steers it, `RunNotices.tsx` says what went wrong and
 * the way out, then one tab each: `OverviewTab` (charts, planned by `chartPlan.ts`), `../samples/SamplesTab`,
 * `DiagnosisTab`, `CheckpointsTab`, `ConfigTab`, `LogTab`. `ForkDialog.tsx` is shared by those that propose a change. */

interface RunPageProps {
  readonly runId: string
  /** As the address has it; anything else is the overview. */
  readonly tab?: string | undefined
}

function RunPage({ runId, tab }: RunPageProps) {
  const { isLoaded } = useRuns()
  const view = useRun(runId)
  if (view.run !== undefined) return <KnownRun key={runId} run={view.run} view={view} tab={tabOf(tab)} />
  return isLoaded ? <NoRun /> : <Loading label="Reading the history" />
}

const tabOf = (tab: string | undefined): RunTab => runTabs.find((known) => known === tab) ?? 'overview'

const NoRun = () => (
  <Page title="Run not found">
    <EmptyState
      title="There is no run at this address."
      action={
        <Button variant="primary" onClick={() => navigate('/runs')}>
          Show all runs
        </Button>
      }
    >
      It may have been deleted, or its folder moved to another place.
    </EmptyState>
  </Page>
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
  const [wish, setWish] = useState<ForkWish | null>(null)
  const findings = diagnosis.data?.findings
  const serious = useMemo(() => (findings ?? []).filter(({ severity }) => severity !== 'note'), [findings])
  const go = (to: RunTab) =>
    goToTab(run.id, to, to === 'samples' || tab === 'samples' ? keptQuery(query) : {})
  const worker = useWorkerOf(run.id)
  const shown = {
    overview: <OverviewTab run={run} config={config} events={view.events} findings={serious} />,
    samples: <SamplesTab run={run} config={config} events={view.events} />,
    diagnosis: <DiagnosisTab run={run} config={config} diagnosis={diagnosis} onFork={setWish} />,
    checkpoints: <CheckpointsTab run={run} config={config} onFork={setWish} />,
    config: <ConfigTab run={run} record={record} config={config} />,
    log: <LogTab run={run} events={view.events} />,
  } satisfies Record<RunTab, ReactNode>
  return (
    <Page
      title={<RunName run={run} />}
      about={<RunFacts run={run} config={config} device={deviceOf(view.events)} />}
      main={<RunActions run={run} onFork={setWish} />}
      isFull
    >
      <p role="status" className="sr-only">
        {worker === undefined ? '' : phaseWords(run.phase, worker)}
        {serious.length === 0 ? '' : ` ${plural(serious.length, 'finding')} in the diagnosis.`}
      </p>
      <RunNotices run={run} config={config} tab={tab} onFork={setWish} />
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
      {wish !== null && config !== null && (
        <ForkDialog run={run} config={config} wish={wish} onClose={() => setWish(null)} />
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

/** A pinned step goes along from the charts to the samples and back. */
const keptQuery = (query: URLSearchParams) => ({ step: query.get('step') })
