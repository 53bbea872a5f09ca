/** Follows a training run on the command line: progress, Ctrl-C and the result. Shared by train, resume and demo. */
import { changeWords, type SettingChange } from '#shared/config/changes.ts'
import { deviceTitles } from '#shared/device.ts'
import { plural } from '#shared/plural.ts'
import type { RunEvent, RunPhase } from '#shared/events.ts'
import { rangeAfter } from '#shared/remaining.ts'
import type { RunEntry } from '#shared/runs.ts'
import type { Host } from '#host/host.ts'
import { runRemaining, type RunRemaining } from '#host/runs/runRows.ts'
import { trainAndFollow } from '#host/runs/runLifecycle.ts'
import type { WorkerStatus } from '#host/runs/supervisor.ts'
import { AgentCommand } from './agentCommand.ts'
import type { CommandContext } from './command.ts'
import { watchInterrupts } from './interrupt.ts'
import { formatReward } from './output.ts'
import { createProgress, type Progress, type ProgressState } from './progress.ts'

export interface TrainingOutcome {
  readonly isFinished: boolean
  readonly steps: number
  /** Eval reward at the run's first and last evaluation; null without validation rows. */
  readonly rewardBefore: number | null
  readonly rewardAfter: number | null
  /** Most severe finding that the run reports at its end. */
  readonly finding: RunEntry['finding']
  readonly seconds: number
  readonly checkpoint: string | null
}

interface FollowOptions {
  readonly host: Host
  readonly run: RunEntry
  readonly resumeFrom: string | null
  /** All changes of its settings, if some are made now. */
  readonly changes?: readonly SettingChange[] | undefined
  /** True to print every event as a line of JSON on stdout. */
  readonly streamEvents: boolean
  /** Command of the agent; absent: it is started by somebody else. */
  readonly agent?: readonly string[] | undefined
}

/**
 * Trains to the end or until Ctrl-C. Errors: those of the training; 'run/stopped' after a second Ctrl-C, and where the agent's
 * command is given up.
 */
export async function followTraining(
  { host, run, resumeFrom, changes, streamEvents, agent }: FollowOptions,
  { json, output }: CommandContext,
): Promise<TrainingOutcome> {
  const progress = createProgress(output, json)
  const teller = new RunTeller(progress, () => runRemaining(host.store, host.store.runs.get(run.id)))
  using interrupt = watchInterrupts(
    () =>
      progress.note(
        'Stopping after this step; a checkpoint will be saved. Press Ctrl-C again to stop at once.',
      ),
    () => progress.note('Stopping at once.'),
  )
  const events: RunEvent[] = []
  const startedAt = Date.now()
  const { agentKey: key } = host.serving
  using agents = new AgentCommand({ command: agent, run, key, say: (sentence) => progress.note(sentence) })
  const signals = {
    gently: interrupt.gently,
    now: AbortSignal.any([interrupt.now, agents.gaveUp]),
    onWorker: (worker: WorkerStatus) => teller.hearWorker(worker),
  }
  try {
    for await (const event of trainAndFollow(host, run, { resumeFrom, changes }, signals)) {
      if (streamEvents) output.json(event)
      if (event.type !== 'samples') events.push(event)
      if (event.type === 'agents') {
        progress.note(agentWords(event, key))
        agents.start(event.address)
      }
      teller.hear(event)
    }
  } catch (error) {
    agents.gaveUp.throwIfAborted()
    throw error
  } finally {
    progress.end()
  }
  const { rewardBefore, rewardAfter, finding } = host.store.runs.get(run.id)
  return {
    ...outcomeOf(events),
    rewardBefore,
    rewardAfter,
    finding,
    seconds: (Date.now() - startedAt) / 1000,
  }
}

/** Reports the run: events as lines, and progress with the remaining time in the progress line. */
class RunTeller {
  readonly #progress: Progress
  readonly #remaining: () => RunRemaining | null
  #state: Omit<ProgressState, 'left'> | null = null
  #gravest = ''

  constructor(progress: Progress, remaining: () => RunRemaining | null) {
    this.#progress = progress
    this.#remaining = remaining
  }

  hear(event: RunEvent): void {
    if (event.type === 'step') {
      this.#state = { done: event.step, total: event.steps, unit: 'step', facts: stepFacts(event.metrics) }
      this.#update([])
      return
    }
    const words = event.type === 'diagnosis' ? this.#remark(event) : wordsFor(event)
    if (words !== null) this.#progress.note(words)
    if (event.type === 'status')
      this.#state ??= { done: event.step, total: event.steps, unit: 'step', facts: [] }
    if (event.type === 'evaluation' || event.type === 'status') this.#update([])
  }

  /** Null if only values or lesser findings have changed. */
  #remark(event: Extract<RunEvent, { type: 'diagnosis' }>): string | null {
    const [gravest] = event.findings
    const stamp = gravest === undefined ? '' : `${gravest.id} ${gravest.severity}`
    if (stamp === this.#gravest) return null
    this.#gravest = stamp
    return remarkWords(event)
  }

  /** Shows the progress of an evaluation, which can take longer than many steps. */
  hearWorker({ stepPhase, phaseProgress }: WorkerStatus): void {
    if (stepPhase !== 'evaluating' || phaseProgress === null) return
    this.#update([`evaluating ${phaseProgress.done} of ${phaseProgress.total}`])
  }

  #update(facts: readonly string[]): void {
    const state = this.#state
    if (state === null || state.total === 0) return
    const remaining = this.#remaining()
    const left = remaining === null || remaining.high === 0 ? null : remainingNow(remaining)
    this.#progress.update({ ...state, facts: [...state.facts, ...facts], left })
  }
}

const remainingNow = (remaining: RunRemaining) => ({
  secondsPerUnit: remaining.secondsPerStep,
  ...rangeAfter(remaining, (Date.now() - remaining.since) / 1000),
  laterStages: remaining.laterStages,
})

const phaseWords: Partial<Record<RunPhase, string>> = {
  preparing: 'Preparing the model.',
  evaluating: 'Evaluating on the validation split.',
}

const engineWords = ({ processes, device, versions }: Extract<RunEvent, { type: 'engine' }>): string =>
  `Trainer: ${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')}; ${plural(processes, 'process', 'processes')} on ${device}.`

const agentWords = ({ address }: Extract<RunEvent, { type: 'agents' }>, key: string): string =>
  `Agents take up sessions with POST ${address}/sessions. Key: ${key}`

/** Describes an event; null if it is not worth a line. */
function wordsFor(event: Exclude<RunEvent, { type: 'step' | 'diagnosis' }>): string | null {
  if (event.type === 'status') return phaseWords[event.phase] ?? null
  if (event.type === 'warning') return `Warning: ${event.message}`
  if (event.type === 'settings-changed') return settingsWords(event)
  if (event.type === 'device') return `Device: ${deviceTitles[event.device.kind]}. ${event.reason}`
  if (event.type === 'engine') return engineWords(event)
  if (event.type !== 'evaluation') return null
  const [reward, loss] = [finite(event.metrics.eval_reward), finite(event.metrics.eval_loss)]
  if (reward !== null) return `Eval reward ${formatReward(reward)} after ${plural(event.step, 'step')}.`
  if (loss !== null) return `Eval loss ${loss.toFixed(3)} after ${plural(event.step, 'step')}.`
  return `No eval completion got a reward after ${plural(event.step, 'step')}.`
}

const settingsWords = ({ changes }: Extract<RunEvent, { type: 'settings-changed' }>): string =>
  `Settings changed: ${changes.map(changeWords).join('; ')}.`

/** Describes the most severe finding; `runs diagnose` has the others, and what to change. */
function remarkWords({ step, findings: [gravest] }: Extract<RunEvent, { type: 'diagnosis' }>): string {
  if (gravest === undefined) return `After step ${step} the diagnosis no longer finds anything wrong.`
  const title = gravest.severity === 'problem' ? 'Problem' : 'Warning'
  return `${title} after step ${step}: ${gravest.words} \`turnwise runs diagnose\` says what to change.`
}

function stepFacts(metrics: Extract<RunEvent, { type: 'step' }>['metrics']): string[] {
  const reward = finite(metrics.reward)
  const length = finite(metrics['completions/mean_length'])
  const rate = finite(metrics['rollout/tokens_per_second'])
  const skipped = finite(metrics['update/skipped'])
  return [
    ...(reward === null ? [] : [`reward ${formatReward(reward)}`]),
    ...(skipped === null ? [] : [`${plural(skipped, 'update')} skipped`]),
    ...(length === null ? [] : [`length ${length.toFixed(0)}`]),
    ...(rate === null ? [] : [`${rate.toFixed(0)} tokens/s`]),
  ]
}

/** Returns null for anything but a finite number; in logs, which are JSON, NaN and infinities are null already. */
const finite = (value: number | null | undefined): number | null =>
  value === undefined || value === null || !Number.isFinite(value) ? null : value

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
