import { Download, GitCompareArrows, Plus } from 'lucide-react'
import { Button } from '#renderer/kit/Button.tsx'
import { Menu, Popover } from '#renderer/kit/Menu.tsx'
import { Page } from '#renderer/kit/Page.tsx'
import { SplitPane } from '#renderer/kit/SplitPane.tsx'
import { ErrorNote, Loading } from '#renderer/kit/states.tsx'
import { ChartBar } from './ChartBar.tsx'
import { Differences } from './Differences.tsx'
import { saveCsv, savePng, saveReport, saveSvg } from './exportComparison.ts'
import { Gap } from './Gap.tsx'
import { betterOf } from './measures.ts'
import { Panels } from './Panels.tsx'
import { Relations } from './Relations.tsx'
import { RunList } from './RunList.tsx'
import { RunPicker } from './RunPicker.tsx'
import { SamePrompt } from './SamePrompt.tsx'
import { axesOf } from '#renderer/charts/xAxes.ts'
import type { CompareState } from './state.ts'
import { useApi } from '#renderer/client/api.tsx'
import { useCompareState, useComparison, type Comparison } from './useComparison.ts'

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
