import { Plus } from 'lucide-react'
import { useMemo } from 'react'
import { findDeclaration, metricLabel } from '#shared/metrics.ts'
import { type ApiClient, useApi } from '#renderer/client/api.tsx'
import type { Comparison } from './useComparison.ts'
import { fullCsvOf } from '#renderer/charts/useSeries.ts'
import { CursorGroup } from '#renderer/charts/CursorGroup.tsx'
import { MetricChart } from '#renderer/charts/MetricChart.tsx'
import { xExtent } from '#renderer/charts/plot.ts'
import { unitOf } from '#renderer/charts/units.ts'
import { Skeleton } from '#renderer/kit/states.tsx'
import { Button } from '#renderer/kit/Button.tsx'
import { Explained } from '#renderer/kit/Tooltip.tsx'
import { Menu } from '#renderer/kit/Menu.tsx'
import { betterOf } from './measures.ts'
import type { CompareState } from './state.ts'

interface PanelsProps {
  readonly comparison: Comparison
  readonly state: CompareState
  readonly onChange: (changes: Partial<CompareState>) => void
}

/** One panel per metric with a shared cursor. */
export function Panels({ comparison, state, onChange }: PanelsProps) {
  const { panels, names, lines, marks, smoothing, groups, visible, hasNames, hasSeries } = comparison
  const client = useApi()
  const runs = useMemo(() => visible.map(({ id, label }) => ({ id, label })), [visible])
  // One range for all, so that the cursors align.
  const range = useMemo(() => xExtent(panels.flatMap((name) => lines.get(name) ?? [])), [panels, lines])
  const setPanels = (next: readonly string[]) => onChange({ panels: next })
  const isRunning = visible.some(({ entry }) => entry.status === 'running')
  const free = names.filter((name) => !panels.includes(name))
  return (
    <CursorGroup zoom={state.zoom} onZoom={(zoom) => onChange({ zoom })} isLive={isRunning}>
      <div className="grid grid-cols-2 gap-3 narrow:grid-cols-1">
        {!hasNames &&
          panels.length === 0 &&
          ['reward', 'eval', 'loss', 'length'].map((id) => (
            <Skeleton key={id} label="Reading the curves" className="h-60" />
          ))}
        {panels.map((name, at) => (
          <MetricChart
            key={name}
            title={metricLabel(name)}
            help={<Explained name={name}>{findDeclaration(name)?.explanation}</Explained>}
            unit={unitOf(name)}
            better={betterOf(name)}
            lines={lines.get(name) ?? none}
            xAxis={state.x}
            // Groups are smoothed before they are combined.
            smoothing={groups === null ? smoothing : 0}
            scale={state.scale}
            events={marks}
            xRange={range}
            clipsSpikes={state.clipsSpikes}
            height={190}
            hasFacts={false}
            // The list of runs names each line; means of groups are named once.
            hasLegend={groups !== null && at === 0}
            emptyText={hasSeries ? emptyText(name, isRunning) : 'Reading the curves…'}
            fullCsv={() => csvOfPanel(client, runs, name)}
            menu={[{ label: 'Remove panel', run: () => setPanels(panels.filter((other) => other !== name)) }]}
          />
        ))}
        {free.length > 0 && <AddPanel free={free} onAdd={(name) => setPanels([...panels, name])} />}
      </div>
    </CursorGroup>
  )
}

function AddPanel({ free, onAdd }: { free: readonly string[]; onAdd: (name: string) => void }) {
  const items = free.map((name) => ({ label: metricLabel(name), title: name, run: () => onAdd(name) }))
  return (
    <div className="flex min-h-16 items-center justify-center rounded border border-dashed border-line-strong">
      <Menu groups={[items]}>
        <Button variant="quiet" icon={Plus}>
          Add panel
        </Button>
      </Menu>
    </div>
  )
}

function emptyText(name: string, isRunning: boolean): string {
  if (!isRunning) return `None of these runs has “${metricLabel(name)}”.`
  return name.startsWith('eval_')
    ? 'The first value comes with the next evaluation on the validation split.'
    : 'The first value comes at the end of the next step.'
}

const none: readonly never[] = []

const csvOfPanel = (
  client: ApiClient,
  runs: readonly { readonly id: string; readonly label: string }[],
  name: string,
) => fullCsvOf(client, runs, [name])
