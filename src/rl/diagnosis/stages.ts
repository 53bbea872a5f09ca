/** Of a run of several stages the one that it is in: numbers of another training mean something else. */
import { stagesOf, type RunConfig } from '#shared/runConfig.ts'
import type { Point, RunHistory } from './diagnosedRun.ts'

export interface Training {
  readonly config: RunConfig
  /** From 0; null where the run has no stages. */
  readonly stage: number | null
  readonly history: RunHistory
}

/** A stage begins where `epoch`, which only grows within one, starts again. */
export function lastTraining(config: RunConfig, history: RunHistory): Training {
  const stages = stagesOf(config)
  if (stages.length === 1) return { config: stages[0], stage: null, history }
  const epochs = history.metrics.get('epoch') ?? []
  const begins = epochs.filter(({ value }, i) => i > 0 && (value ?? 0) <= (epochs[i - 1]?.value ?? 0))
  const stage = Math.min(begins.length, stages.length - 1)
  return { config: stages[stage] ?? stages[0], stage, history: since(history, begins.at(-1)?.step ?? 0) }
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
