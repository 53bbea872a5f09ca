import { useMemo } from 'react'
import type { StudyEntry } from '#shared/api/studies.ts'
import { findDeclaration, metricLabel } from '#shared/metrics.ts'
import { pointAt, type ChartLine, type ChartPoint } from '#renderer/charts/lines.ts'
import { MetricChart } from '#renderer/charts/MetricChart.tsx'
import { ScatterChart } from '#renderer/charts/ScatterChart.tsx'
import { unitOf } from '#renderer/charts/units.ts'
import { useRunStyles } from '#renderer/client/runs.ts'
import { Explained } from '#renderer/kit/Tooltip.tsx'
import { Panel } from '#renderer/kit/Page.tsx'
import { lastResult, lineId, wayTo, type Lineage, type Place } from '#renderer/parts/lineage.ts'
import { trialTitle } from '#renderer/parts/studyWords.ts'

interface FitnessProps {
  readonly study: StudyEntry
  readonly lineage: Lineage
  readonly onChoose: (lineId: string) => void
}

/** Plots fitness over generations or rungs, or by trial if each is measured once. */
export function FitnessChart({ study, lineage, onChoose }: FitnessProps) {
  const isOnce = study.search.kind === 'sweep' && study.search.early === null
  return isOnce ? (
    <FitnessByTrial study={study} onChoose={onChoose} />
  ) : (
    <FitnessOverSteps study={study} lineage={lineage} />
  )
}

/** Limit of Compare; beyond it, active trials and those that ended last are shown. */
const maxLines = 64

function FitnessOverSteps({ study, lineage }: Omit<FitnessProps, 'onChoose'>) {
  const styleOf = useRunStyles()
  const { metric } = study.search.fitness
  const { lines, others } = useMemo(() => fitnessLines(study, lineage, styleOf), [study, lineage, styleOf])
  const declaration = findDeclaration(metric)
  const end = useMemo(() => [0, study.steps] as const, [study.steps])
  return (
    <MetricChart
      title={metricLabel(metric)}
      unit={unitOf(metric)}
      help={
        <Explained name={metric}>
          {declaration?.explanation} Each line goes from a trial back through those it was cloned from; the
          thick one is the best so far.
          {others.length > 0 && ` ${String(others.length)} more appear when one points at them below.`}
        </Explained>
      }
      lines={lines}
      others={others}
      smoothing={0}
      xRange={end}
      hasLegend={false}
      hasFacts={false}
      emptyText="The first result comes when a trial is evaluated."
      className="grow"
    />
  )
}

/** Returns a line for each trial without successors, through its ancestors; `others`: those of all other trials. */
function fitnessLines(study: StudyEntry, lineage: Lineage, styleOf: ReturnType<typeof useRunStyles>) {
  const line = (place: Place): ChartLine => ({
    id: lineId(place.trial),
    label: trialTitle(study, place.trial),
    ...styleOf(place.trial.runId ?? ''),
    points: wayTo(place).flatMap(({ step, result }) =>
      result?.fitness == null ? [] : [pointAt(step, step, result.fitness)],
    ),
  })
  const lastPlaces = new Map<number, Place>()
  for (const { places } of lineage.generations)
    for (const place of places) lastPlaces.set(place.trial.index, place)
  const places = [...lastPlaces.values()].sort((a, b) => b.step - a.step)
  const ends = new Set(places.filter(({ next }) => next.length === 0).slice(0, maxLines))
  const best: ChartLine = {
    id: 'best',
    label: 'Best so far',
    color: 'var(--text)',
    isBaseline: true,
    points: bestSoFar(study, lineage),
  }
  return {
    lines: [...[...ends].map(line), best],
    others: places.filter((place) => !ends.has(place)).map(line),
  }
}

function bestSoFar({ search }: StudyEntry, { generations }: Lineage): readonly ChartPoint[] {
  const pick = search.fitness.goal === 'max' ? Math.max : Math.min
  let best: number | null = null
  return generations.flatMap(({ step, places }) => {
    for (const { result } of places)
      if (result?.fitness != null) best = best === null ? result.fitness : pick(best, result.fitness)
    return best === null ? [] : [pointAt(step, step, best)]
  })
}

function FitnessByTrial({ study, onChoose }: Omit<FitnessProps, 'lineage'>) {
  const styleOf = useRunStyles()
  const { search, trials, best } = study
  const title = metricLabel(search.fitness.metric)
  const dots = useMemo(
    () =>
      trials.flatMap((trial) => {
        const fitness = lastResult(trial)?.fitness ?? null
        if (fitness === null) return []
        return {
          id: lineId(trial),
          label: trialTitle({ search }, trial),
          x: trial.index + 1,
          y: fitness,
          color: styleOf(trial.runId ?? '').color,
          isBaseline: best?.trial === trial.index,
        }
      }),
    [trials, search, best, styleOf],
  )
  return (
    <Panel title={`${title} of each trial`} isFlush>
      <ScatterChart
        title={`${title} of each trial`}
        xLabel="trial"
        yLabel={title}
        dots={dots}
        height={180}
        emptyText="The first result comes when a trial has ended."
        onOpen={onChoose}
      />
    </Panel>
  )
}
