/** Following a training run from the command line: progress, Ctrl-C, and what came out. Shared by train, resume and demo. */
import type { RunEvent, RunPhase } from '#shared/events.ts'
import type { RunEntry } from '#shared/runs.ts'
import type { Host } from '#host/host.ts'
import { trainAndFollow } from '#host/training.ts'
import type { CommandContext } from './command.ts'
import { watchInterrupts } from './interrupt.ts'
import { createProgress, type Progress } from './progress.ts'

export interface TrainingOutcome {
  readonly isFinished: boolean
  readonly steps: number
  /** Eval reward at the run's first and last evaluation; null without validation rows. */
  readonly rewardBefore: number | null
  readonly rewardAfter: number | null
  readonly seconds: number
  /** Folder of the last checkpoint. */
  readonly checkpoint: string | null
}

interface FollowOptions {
  readonly host: Host
  readonly run: RunEntry
  readonly resumeFrom: string | null
  /** Every event as a line of JSON on stdout. */
  readonly streamEvents: boolean
}

/** Trains to the end, or to a Ctrl-C. Errors: what training failed with; 'run/stopped' after a second Ctrl-C. */
export async function followTraining(
  { host, run, resumeFrom, streamEvents }: FollowOptions,
  { json, output }: CommandContext,
): Promise<TrainingOutcome> {
  const progress = createProgress(output, json)
  using interrupt = watchInterrupts(
    () =>
      progress.note(
        'Stopping after this step; a checkpoint will be kept. Press Ctrl-C again to stop at once.',
      ),
    () => progress.note('Stopping at once.'),
  )
  const events: RunEvent[] = []
  const startedAt = Date.now()
  try {
    for await (const event of trainAndFollow(host, run, resumeFrom, interrupt)) {
      if (streamEvents) output.json(event)
      if (event.type !== 'samples') events.push(event)
      show(event, progress)
    }
  } finally {
    progress.end()
  }
  const { rewardBefore, rewardAfter } = host.store.runs.get(run.id)
  return { ...outcomeOf(events), rewardBefore, rewardAfter, seconds: (Date.now() - startedAt) / 1000 }
}

function show(event: RunEvent, progress: Progress): void {
  if (event.type === 'step') {
    progress.update({ done: event.step, total: event.steps, unit: 'step', facts: stepFacts(event.metrics) })
    return
  }
  const words = wordsFor(event)
  if (words !== null) progress.note(words)
}

const phaseWords: Partial<Record<RunPhase, string>> = {
  preparing: 'Preparing the model.',
  evaluating: 'Evaluating on the validation split.',
}

/** What a person is told of an event; null where it is not worth a line. */
function wordsFor(event: Exclude<RunEvent, { type: 'step' }>): string | null {
  if (event.type === 'status') return phaseWords[event.phase] ?? null
  if (event.type === 'warning') return `Warning: ${event.message}`
  if (event.type === 'diagnosis') return remarkWords(event)
  if (event.type !== 'evaluation') return null
  return `Eval reward ${(event.metrics.eval_reward ?? Number.NaN).toFixed(3)} after ${event.step} steps.`
}

/** The gravest finding; the others stand in `runs diagnose`, which says what to change too. */
function remarkWords({ step, findings: [gravest] }: Extract<RunEvent, { type: 'diagnosis' }>): string {
  if (gravest === undefined) return `After step ${step} the diagnosis finds nothing wrong any more.`
  const title = gravest.severity === 'problem' ? 'Problem' : 'Warning'
  return `${title} after step ${step}: ${gravest.words} \`turnwise runs diagnose\` says what to change.`
}

function stepFacts(metrics: Extract<RunEvent, { type: 'step' }>['metrics']): string[] {
  const { reward, 'completions/mean_length': length } = metrics
  const rate = metrics['rollout/tokens_per_second']
  return [
    ...(reward === undefined ? [] : [`reward ${reward.toFixed(3)}`]),
    ...(length === undefined ? [] : [`length ${length.toFixed(0)}`]),
    ...(rate === undefined ? [] : [`${rate.toFixed(0)} tokens/s`]),
  ]
}

function outcomeOf(
  events: readonly RunEvent[],
): Pick<TrainingOutcome, 'isFinished' | 'steps' | 'checkpoint'> {
  const status = events.findLast((event) => event.type === 'status')
  return {
    isFinished: status?.phase === 'finished',
    steps: status?.step ?? 0,
    checkpoint: events.findLast((event) => event.type === 'checkpoint-saved')?.directory ?? null,
  }
}
