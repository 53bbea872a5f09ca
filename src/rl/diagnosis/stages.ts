/** Of a run of several stages the one that it is in: numbers of another training mean something else. */
import type { MetricName } from '#shared/metrics.ts'
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { type Point, type RunHistory, stepsOf } from './diagnosedRun.ts'

export interface Training {
  readonly config: RunConfig
  /** From 0; null where the run has no stages. */
  readonly stage: number | null
  readonly history: RunHistory
}

export function lastTraining(config: RunConfig, history: RunHistory): Training {
  const stages = stagesOf(config)
  if (stages.length === 1) return { config: stages[0], stage: null, history }
  const { stage, firstStep } = plannedPlace(stages, history) ?? seenPlace(stages, history)
  return { config: stages[stage] ?? stages[0], stage, history: since(history, firstStep) }
}

interface Place {
  readonly stage: number
  readonly firstStep: number
}

/** By the lengths of the stages; null where some are as long as their data. */
function plannedPlace(stages: readonly RunConfig[], history: RunHistory): Place | null {
  const lengths = stages.flatMap(({ steps }) => steps ?? [])
  if (lengths.length < stages.length) return null
  const begins = lengths.map((_, i) => 1 + lengths.slice(0, i).reduce((sum, length) => sum + length, 0))
  const stage = Math.max(
    0,
    begins.findLastIndex((begin) => begin <= stepsOf(history).last),
  )
  return { stage, firstStep: begins[stage] ?? 1 }
}

/** A stage begins where `epoch`, which only grows within one, starts again; a fork is taken to begin with the first. */
function seenPlace(stages: readonly RunConfig[], { metrics }: RunHistory): Place {
  const epochs = metrics.get('epoch' satisfies MetricName) ?? []
  const begins = epochs.filter(({ value }, i) => i > 0 && (value ?? 0) <= (epochs[i - 1]?.value ?? 0))
  return { stage: Math.min(begins.length, stages.length - 1), firstStep: begins.at(-1)?.step ?? 0 }
}

/** The evaluation before its first step belongs to it too, unless the stage before made it as its last. */
function since(history: RunHistory, step: number): RunHistory {
  const own = (name: string, points: readonly Point[]) =>
    points.filter((point) => point.step >= (name.startsWith('eval_') ? step - 1 : step))
  return {
    ...history,
    metrics: new Map([...history.metrics].map(([name, points]) => [name, own(name, points)])),
    samples: history.samples.filter((sample) => sample.step >= step),
  }
}
