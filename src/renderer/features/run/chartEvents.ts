/** Events of a run as marks on its charts. */
import type { Finding } from '#shared/diagnosis.ts'
import { madeWords } from '#renderer/client/runSettings.ts'
import { resumedAt, stepOf, type RunEntry, type StoredEvent } from '#renderer/client/runs.ts'
import type { ChartEvent } from '#renderer/charts/lines.ts'

interface Happened {
  readonly run: Pick<RunEntry, 'parentRunId' | 'parentCheckpointStep' | 'settingChanges'>
  readonly events: readonly StoredEvent[]
  readonly findings: readonly Finding[]
}

/** Returns checkpoints still present, resumptions, the fork point, changed settings, and starts of findings, by step. */
export function chartEvents({ run, events, findings }: Happened): readonly ChartEvent[] {
  const marks: ChartEvent[] = []
  if (run.parentRunId !== null && run.parentCheckpointStep !== null) {
    const x = run.parentCheckpointStep
    marks.push({ id: 'fork', x, kind: 'fork', label: `Forked at step ${String(x)}` })
  }
  const removed = removedSteps(events)
  for (const { id, seq, event } of events) {
    const step = event.type === 'resumed' ? resumedAt(events, seq) : stepOf(event)
    if (step === null) continue
    if (event.type === 'resumed') marks.push({ id: String(id), x: step, kind: 'resume', label: 'Resumed' })
    if (event.type === 'checkpoint-saved' && !removed.has(step))
      marks.push({ id: String(id), x: step, kind: 'checkpoint', label: `Checkpoint ${String(step)}` })
    if (event.type === 'warning')
      marks.push({ id: String(id), x: step, kind: 'alarm', label: String(event['message']) })
  }
  return [...marks, ...settingMarks(run.settingChanges), ...findings.flatMap(alarmOf)].sort(
    (a, b) => a.x - b.x,
  )
}

/** Returns one mark per step after which settings changed. */
const settingMarks = (changes: RunEntry['settingChanges']): readonly ChartEvent[] =>
  [...Map.groupBy(changes, ({ step }) => step)].map(([x, made]) => ({
    id: `settings-${String(x)}`,
    x,
    kind: 'setting',
    label: madeWords(made),
  }))

/** Selects the events shown even in small charts. */
export const gravestEvents = (events: readonly ChartEvent[]): readonly ChartEvent[] =>
  events.filter(({ kind }) => kind !== 'checkpoint')

function removedSteps(events: readonly StoredEvent[]): ReadonlySet<number> {
  const gone = events.filter(({ event }) => event.type === 'checkpoints-removed')
  return new Set(gone.flatMap(({ event }) => stepsOfFolders(event['directories'])))
}

export function stepsOfFolders(directories: unknown): readonly number[] {
  if (!Array.isArray(directories)) return []
  return (directories as readonly unknown[]).flatMap((directory) => {
    const step = typeof directory === 'string' ? /step-0*(\d+)[\\/]?$/.exec(directory)?.[1] : undefined
    return step === undefined ? [] : [Number(step)]
  })
}

function alarmOf({ id, words, evidence }: Finding): readonly ChartEvent[] {
  // Some evidence describes an earlier state.
  const x = evidence.reduce((latest, { fromStep }) => Math.max(latest, fromStep), -1)
  return x < 0 ? [] : [{ id: `finding-${id}`, x, kind: 'alarm', label: words }]
}
