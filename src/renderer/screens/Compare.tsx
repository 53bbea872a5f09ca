import { Download, GitCompareArrows, Plus } from 'lucide-react'
import { Button } from '../components/base/Button.tsx'
import { Menu, Popover } from '../components/base/Menu.tsx'
import { Page } from '../components/base/Page.tsx'
import { SplitPane } from '../components/base/SplitPane.tsx'
import { ErrorNote, Loading } from '../components/base/states.tsx'
import { ChartBar } from '../components/compare/ChartBar.tsx'
import { Differences } from '../components/compare/Differences.tsx'
import { saveCsv, savePng, saveReport, saveSvg } from '../components/compare/exportComparison.ts'
import { Gap } from '../components/compare/Gap.tsx'
import { betterOf } from '../components/compare/measures.ts'
import { Panels } from '../components/compare/Panels.tsx'
import { Relations } from '../components/compare/Relations.tsx'
import { RunList } from '../components/compare/RunList.tsx'
import { RunPicker } from '../components/compare/RunPicker.tsx'
import { SamePrompt } from '../components/compare/SamePrompt.tsx'
import { axesOf } from '../components/charts/xAxes.ts'
import type { CompareState } from '../components/compare/state.ts'
import { useApi } from '../hooks/api.tsx'
import { useCompareState, useComparison, type Comparison } from '../hooks/comparison.ts'

/** Several runs over each other, and what sets them apart. */
export function CompareScreen() {
  const [state, change] = useCompareState()
  const comparison = useComparison(state)
  const { listed, isLoaded } = comparison
  const setRuns = (runIds: readonly string[]) => change({ runIds })
  const picker = <RunPicker chosen={state.runIds} onChange={setRuns} />
  if (!isLoaded || listed.length === 0) {
    return (
      <Page title="Compare">
        {isLoaded ? <NoRuns picker={picker} /> : <Loading label="Reading the history" />}
      </Page>
    )
  }
  return (
    <Page
      title="Compare"
      isFull
      about={`${String(listed.length)} ${listed.length === 1 ? 'run' : 'runs'}`}
      main={
        <>
          <Popover
            label="Choose runs"
            width={400}
            trigger={<Button icon={<Plus size={14} aria-hidden />}>Choose runs</Button>}
          >
            {picker}
          </Popover>
          <ExportMenu comparison={comparison} state={state} />
        </>
      }
    >
      <SplitPane id="compare" sizes={[22, 78]} minimums={[200, 500]}>
        <RunList
          runs={listed}
          metric={comparison.metric}
          metrics={comparison.names}
          statistic={state.statistic}
          onMetric={(metric) => change({ metric })}
          onStatistic={(statistic) => change({ statistic })}
          onHide={(id) => change({ hidden: toggled(state.hidden, id) })}
          onBaseline={(id) => change({ baseline: state.baseline === id ? null : id })}
          onRemove={(id) => setRuns(state.runIds.filter((other) => other !== id))}
        />
        <Comparing comparison={comparison} state={state} onChange={change} />
      </SplitPane>
    </Page>
  )
}

const toggled = (list: readonly string[], id: string): readonly string[] =>
  list.includes(id) ? list.filter((other) => other !== id) : [...list, id]

interface ComparingProps {
  readonly comparison: Comparison
  readonly state: CompareState
  readonly onChange: (changes: Partial<CompareState>) => void
}

function Comparing({ comparison, state, onChange }: ComparingProps) {
  const { visible, metric, settings, records, keys, seedGroups, tails, valueOf, shownMetrics, error } =
    comparison
  return (
    <div className="min-h-0 grow overflow-auto" tabIndex={-1}>
      <div className="sticky top-0 z-30 border-b border-line bg-bg px-4 py-2">
        <ChartBar
          state={state}
          axes={axesOf(comparison.names)}
          smoothing={comparison.smoothing}
          groupKeys={keys}
          onChange={onChange}
        />
      </div>
      <div className="flex flex-col gap-4 p-4">
        {error && <ErrorNote error={error} />}
        <Panels comparison={comparison} state={state} onChange={onChange} />
        {metric !== null && (
          <Gap metric={metric} better={betterOf(metric)} runs={visible} groups={seedGroups} tails={tails} />
        )}
        <Differences runs={visible} settings={settings} records={records} />
        <SamePrompt runs={visible} />
        {metric !== null && (
          <Relations
            runs={visible}
            settings={settings}
            keys={keys}
            metrics={shownMetrics}
            valueOf={valueOf}
            metric={metric}
          />
        )}
      </div>
    </div>
  )
}

function ExportMenu({ comparison, state }: Omit<ComparingProps, 'onChange'>) {
  const client = useApi()
  return (
    <Menu
      groups={[
        [
          { label: 'Panels as PNG', onSelect: () => void savePng(comparison, state) },
          { label: 'Panels as SVG', onSelect: () => saveSvg(comparison, state) },
          { label: 'All values as CSV', onSelect: () => void saveCsv(client, comparison) },
        ],
        [{ label: 'Report as HTML', onSelect: () => saveReport(comparison, state) }],
      ]}
    >
      <Button variant="primary" icon={<Download size={14} aria-hidden />}>
        Export
      </Button>
    </Menu>
  )
}

const NoRuns = ({ picker }: { picker: React.ReactNode }) => (
  <div className="mx-auto max-w-120 py-6">
    <div className="mb-4 flex flex-col items-center gap-2 text-center">
      <GitCompareArrows size={28} aria-hidden className="text-faint" />
      <p className="text-lg font-medium">Choose two or more runs to compare</p>
      <p className="text-muted text-pretty">
        Their curves share one cursor, and what differs between them stands beside: settings, reward code,
        completions.
      </p>
    </div>
    <div className="rounded border border-line p-3">{picker}</div>
  </div>
)
