import { useDeferredValue, useMemo, useState } from 'react'
import type { StudyEntry, StudyTrial } from '#shared/api/studies.ts'
import { useFront, usePointing } from '#renderer/charts/front.tsx'
import { chosenOf, type Brushes } from '#renderer/charts/parallelAxes.ts'
import { ParallelCoordinates } from '#renderer/charts/ParallelCoordinates.tsx'
import { formatCount, plural } from '#renderer/client/format.ts'
import { navigate } from '#renderer/client/route.ts'
import { Button } from '#renderer/kit/Button.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { lineId } from '#renderer/parts/lineage.ts'
import { trialLines } from './searchedSettings.ts'
import { SettingImportance } from './SettingImportance.tsx'
import { maxCompared, TrialsTable } from './TrialsTable.tsx'

interface SearchedProps {
  readonly study: StudyEntry
  readonly onChoose: (trial: StudyTrial) => void
}

/** Settings that vary between trials with their results: brushing, comparison, and importance. */
export function SearchedSettings({ study, onChoose }: SearchedProps) {
  const { axes, lines } = useMemo(() => trialLines(study), [study])
  const [brushes, setBrushes] = useState<Brushes>({})
  const front = useFront()
  const pointing = usePointing()
  // Lines follow the pointer at once, the table when the browser is idle.
  const settled = useDeferredValue(brushes)
  const chosen = useMemo(
    () => chosenOf(axes, lines, settled).map(({ trial }) => trial),
    [axes, lines, settled],
  )
  const open = (id: string) => {
    const line = lines.find((each) => each.id === id)
    if (line !== undefined) onChoose(line.trial)
  }
  const importance = useMemo(() => <SettingImportance study={study} />, [study])
  const table = useMemo(
    () => (
      <TrialsTable
        {...{ study, onChoose }}
        trials={chosen}
        actions={
          <BrushedActions
            isBrushed={Object.keys(settled).length > 0}
            all={lines.length}
            chosen={chosen}
            onClear={() => setBrushes({})}
          />
        }
      />
    ),
    [study, onChoose, chosen, settled, lines.length],
  )
  return (
    <div className="@container flex min-h-0 grow flex-col gap-3 overflow-auto p-3">
      <div className="grid shrink-0 items-start gap-3 @4xl:grid-cols-[minmax(0,1fr)_20rem]">
        <Panel title="Settings of each trial and its result" isFlush>
          <ParallelCoordinates
            title="Settings of each trial and its result"
            {...{ axes, brushes, front }}
            runs={lines}
            onBrush={setBrushes}
            onFront={(id) => pointing?.point(id)}
            onOpen={open}
            hasLegend={false}
            emptyText="A line appears here for each trial with a result."
          />
        </Panel>
        {importance}
      </div>
      <div className="flex h-80 shrink-0 flex-col overflow-hidden rounded border border-line">{table}</div>
    </div>
  )
}

interface ActionProps {
  readonly isBrushed: boolean
  /** Number of trials with a result. */
  readonly all: number
  /** Trials within all brushes, best last. */
  readonly chosen: readonly StudyTrial[]
  readonly onClear: () => void
}

function BrushedActions({ isBrushed, all, chosen, onClear }: ActionProps) {
  const compared = chosen.filter(({ runId }) => runId !== null).slice(-maxCompared)
  const compare = () => navigate('/runs/compare', { runs: compared.toReversed().map(lineId).join(',') })
  return (
    <>
      <span role="status" className="font-medium">
        {isBrushed ? `${formatCount(chosen.length)} of ${plural(all, 'trial')}` : plural(all, 'trial')}
      </span>
      <Button small disabled={compared.length < 2} onClick={compare}>
        {compared.length < chosen.length ? `Compare the best ${String(compared.length)}` : 'Compare these'}
      </Button>
      {isBrushed && (
        <Button small variant="quiet" onClick={onClear}>
          Clear brushes
        </Button>
      )}
    </>
  )
}
