/**
 * Runs a training by another trainer: this process starts it, records its messages, takes its adapters over as
 * checkpoints and evaluates them as it would its own. The trainer's own checkpoint, from which it resumes, is inside
 * ours.
 */
import { rmSync } from 'node:fs'
import path from 'node:path'
import { isSealed, sealFolder } from '#host/consents/seals.ts'
import { AppError } from '#shared/errors.ts'
import type { EngineEvent, RunEvent, RunPhase, TrainerState } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import { toolTitles } from '#shared/tools.ts'
import { commandWord } from '#shared/shownText.ts'
import type { Policy } from '#engine/policy.ts'
import type { PauseRequest, Schedule } from '#rl/training/dependencies.ts'
import { groupSizeOf } from '#rl/training/conflicts.ts'
import type { TrainingScript } from '#rl/training/script.ts'
import { initialState, planTraining, updatesOf, type TrainPlan } from '#rl/training/plan.ts'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { requireAllowedEngine } from '#host/engines/engineCode.ts'
import { type AllowedEnvironment, readyEnvironment, versionNotice } from '#host/engines/environment.ts'
import { askedProcesses, engines, launchers, type OtherEngine, resultsOf } from '#host/engines/launch.ts'
import {
  prepareProject,
  writeCode,
  type SavedNews,
  type TrainerNews,
  type WatchedProject,
  type WatchOptions,
} from '#host/engines/watched.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { hubIdOf } from '#host/models/modelLibrary.ts'
import { programOf, startProgram, type Program, type ProgramEnd } from '#host/python/program.ts'
import { trainerCheckpoint } from '#host/models/checkpoints.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { lastWords, trainerEnvironment } from '#host/engines/trainerProcess.ts'
import { openTraining, type Training, type TrainingSetup } from './openTraining.ts'
import { type Recorder, retentionOf, type TrainedState } from './recording.ts'
import type { Stage, TrainingStart } from './stages.ts'

export interface EngineRun {
  readonly kind: OtherEngine
  readonly runDirectory: string
  readonly consents: string | undefined
  /** The run's only one. */
  readonly stage: Stage
  readonly model: ModelFolder
  /** Start; null: from the beginning. */
  readonly start: TrainingStart | null
  readonly control: Pick<Schedule, 'onPhase'> & {
    readonly signal: AbortSignal
    readonly pause: PauseRequest
  }
  readonly until: number | undefined
  /** Model that evaluates the adapters; null: nothing does, as the model does not fit into this machine's memory. */
  readonly training: Training | null
}

/** Settings of the run for training here; it has a single stage. */
interface EngineStages
  extends
    Omit<EngineRun, 'stage' | 'start' | 'training'>,
    Omit<TrainingSetup, 'stage' | 'begin' | 'consents'> {
  readonly stages: readonly Stage[]
  readonly recorder: Recorder
  readonly script: TrainingScript | null
}

/** Trains by another trainer, whose runs have one stage. Errors: AppError 'engine/unsuitable' for a script of one's own. */
export async function* runOnEngine(run: EngineStages, start: TrainingStart | null): AsyncGenerator<RunEvent> {
  const { name, stages, model, device, cacheDirectory, recorder, script } = run
  const [stage] = stages
  if (script !== null || stage === undefined)
    throw new AppError(
      'engine/unsuitable',
      'A training script takes the steps of its run itself, so no other trainer can.',
      'Set `engine.kind` to local.',
    )
  const { config } = stage.parts
  // Evaluations are computed here whatever samples there.
  const own = { ...config, rollout: { ...config.rollout, server: null, maxStaleness: 0 } }
  const setup = { name, model, device, cacheDirectory, begin: null }
  await using training = await openIfItFits({
    ...setup,
    stage: { ...stage, parts: { ...stage.parts, config: own } },
  })
  if (training === null)
    yield* recorder.say({ type: 'warning', step: start?.checkpoint.trainer.step ?? 0, message: tooLarge })
  const engine = new EngineTraining({ ...run, stage, start, training })
  yield* recorder.record(engine.train(), retentionOf(config, model), () => engine.state())
}

const tooLarge =
  'The model does not fit into this machine’s memory here, so its checkpoints are neither evaluated nor compared.'

/** null where memory is short. */
async function openIfItFits(setup: TrainingSetup): Promise<Training | null> {
  try {
    return await openTraining(setup)
  } catch (error) {
    if (error instanceof AppError && error.code.endsWith('/out-of-memory')) return null
    throw error
  }
}

/** Interval at which the trainer's messages and the wish to stop are looked at. */
const everyMs = 200

class EngineTraining {
  readonly #run: EngineRun
  readonly #plan: TrainPlan | null
  #state: TrainerState
  /** The trainer's checkpoint to go on from, and its step. */
  #resumeFrom: TrainerCheckpoint | null = null
  #saved: TrainedState | null = null
  /** Last step that the trainer reported, which may be after the last one it saved. */
  #lastStep: number

  /** Errors: AppError 'checkpoint/invalid' for one that the trainer cannot go on from. */
  constructor(run: EngineRun) {
    this.#run = run
    this.#plan = run.training && planTraining(run.training.dependencies)
    this.#state = run.start?.checkpoint.trainer ?? initialState
    this.#lastStep = this.#state.step
    if (run.start !== null) this.#resumeFrom = trainerCheckpointOf(run.start, this.#title)
  }

  get #title(): string {
    return toolTitles[engines[this.#run.kind].tool]
  }

  /** State for the checkpoint that is due. */
  state(): TrainedState {
    if (this.#saved === null) throw new Error('Expected an adapter of the trainer.')
    return this.#saved
  }

  /** The events of a training here. Errors: AppError 'engine/…', 'python/not-allowed', 'sandbox/failed', 'adapter/invalid'. */
  async *train(): AsyncGenerator<RunEvent> {
    const { start, control, stage } = this.#run
    const environment = await readyEnvironment(stage.parts.config, this.#run.consents ?? null)
    if (environment === null) throw new Error('Expected another trainer.')
    yield* this.#warn(versionNotice(environment))
    if (start === null && stage.parts.data.heldOut.length > 0) {
      yield this.#status('evaluating')
      yield* this.#evaluate(0)
    }
    while (!this.#isOver() && !control.signal.aborted) {
      yield this.#status('training')
      yield* this.#trainUntilEnd(environment)
      if (this.#isOver() || !control.pause.isWanted) continue
      yield this.#status('paused')
      await control.pause.over()
    }
    yield this.#status(this.#state.step >= stage.lastStep ? 'finished' : 'stopped')
  }

  #status(phase: RunPhase): RunEvent {
    return { type: 'status', phase, step: this.#state.step, steps: this.#run.stage.place.steps }
  }

  *#warn(message: string | null): Generator<RunEvent> {
    if (message !== null) yield { type: 'warning', step: this.#state.step, message }
  }

  #isOver(): boolean {
    const { stage, until = Infinity } = this.#run
    return this.#state.step >= Math.min(stage.lastStep, until)
  }

  /** True if somebody wants it to end or to wait. */
  get #isHeld(): boolean {
    const { signal, pause } = this.#run.control
    return signal.aborted || pause.isWanted
  }

  /** Runs the trainer once, until it ends. */
  async *#trainUntilEnd(environment: AllowedEnvironment): AsyncGenerator<RunEvent> {
    const { kind, runDirectory, stage } = this.#run
    const { engine, device } = stage.parts.config
    const directory = runPaths(runDirectory).engine
    const place = { kind, directory, runDirectory }
    const project = await prepareProject(stage.parts.config, place, this.#options(environment))
    // Checked each time, and last: the person may have withdrawn consent, and files may have changed.
    const allowed = requireAllowedEngine(stage.parts.config, this.#run.consents ?? null)
    if (allowed === null) throw new Error('Expected another trainer.')
    if (this.#resumeFrom !== null) requireSealed(this.#resumeFrom, this.#run, this.#title)
    const settings = writeCode(project, allowed)
    const words = launchers[engine.launcher]({ script: project.script, engine, settings })
    const program = startProgram(await programOf(allowed.interpreter), words, {
      folder: project.folder,
      environment: trainerEnvironment(device.threads, engine),
      hear: project.hear,
    })
    try {
      const end = yield* this.#follow(project, program)
      // The trainer ends early only where it was asked to.
      if (end.exitCode !== 0 || !(this.#isOver() || end.wasAsked)) throw this.#died(end)
    } finally {
      program.kill()
      await program.ended
    }
  }

  #options({ gpus }: AllowedEnvironment): WatchOptions {
    const { kind, stage, until } = this.#run
    const { config, data, code } = stage.parts
    const { algorithm } = code
    const isRollout = algorithm.experience === 'rollout'
    const { unit } = algorithm.needs
    const rows = config.rollout.promptsPerStep * (isRollout ? groupSizeOf(config, algorithm) * unit : unit)
    const isOnCpu = gpus === 0 || config.device.kind === 'cpu'
    return {
      arguments: engines[kind].words({ isRollout, isOnCpu, model: config.engine.model }),
      resumeFrom: this.#resumeFrom?.directory ?? null,
      steps: stage.place.steps,
      updatesPerStep: updatesOf(config, rows, unit),
      saveEvery: [config.checkpoints.every, data.heldOut.length === 0 ? 0 : config.evaluation.every],
      until,
      shown: config.shownTrajectories,
    }
  }

  /** Follows the trainer until it has ended and all its messages are passed on. */
  async *#follow(
    project: WatchedProject & { readonly notes: readonly string[] },
    program: Program,
  ): AsyncGenerator<RunEvent, ProgramEnd & { readonly wasAsked: boolean }> {
    let end: ProgramEnd | null = null
    let wasAsked = false
    for (;;) {
      const isLastLook = end !== null
      for (const news of project.read()) yield* this.#report(news, project.notes)
      if (isLastLook && end !== null) return { ...end, wasAsked }
      if (this.#isHeld && !wasAsked) this.#askToStop(project, program)
      wasAsked ||= this.#isHeld
      const later = new Promise<null>((resolve) => setTimeout(resolve, everyMs, null))
      end = await Promise.race([program.ended, later])
    }
  }

  #askToStop(project: WatchedProject, program: Program): void {
    project.askToStop()
    // A trainer elsewhere does not see the file.
    if (resultsOf(this.#run.stage.parts.config.engine) === 'output') program.say('stop')
  }

  async *#report(news: TrainerNews, notes: readonly string[]): AsyncGenerator<RunEvent> {
    if (news.type === 'saved') yield* this.#takeOver(news)
    else if (news.type === 'engine') yield* this.#introduce(news, notes)
    else if (news.type === 'warning') yield* this.#warn(news.message)
    else {
      if (news.type === 'step') this.#lastStep = news.step
      yield news
    }
  }

  *#introduce(event: EngineEvent, notes: readonly string[]): Generator<RunEvent> {
    yield { ...event, notes }
    const asked = askedProcesses(this.#run.stage.parts.config.engine)
    if (asked === null || asked === event.processes) return
    yield* this.#warn(
      `The run asks for ${asked} processes, but the launcher started ${event.processes}. Every step still has as many completions.`,
    )
  }

  /** An adapter of the trainer: compared, evaluated where that is due, and kept as a checkpoint where that is. */
  async *#takeOver({
    step,
    updates,
    tokens,
    directory,
    adapter,
    probes,
  }: SavedNews): AsyncGenerator<RunEvent> {
    const { stage, model, training, control, runDirectory, consents } = this.#run
    const { config } = stage.parts
    const { config: lora, tensors: actor } = adapterForModel(readAdapter(adapter), model.config, adapter)
    const promptsDrawn = step * config.rollout.promptsPerStep
    this.#state = { ...this.#state, step, updates, tokens, promptsDrawn }
    const isDueNow = (every: number) => this.#isOver() || isDue(every, step)
    if (training !== null) {
      training.take(actor)
      const { policy } = training.dependencies.model
      const difference = await compare(policy, probes, config.rollout.temperature)
      if (isDueNow(config.evaluation.every)) yield* withMetrics(this.#evaluate(step), difference)
      yield* this.#warn(mismatchWords(difference, this.#title))
    }
    if (this.#isHeld || isDueNow(config.checkpoints.every)) {
      control.onPhase?.('saving')
      if (consents !== undefined) sealFolder(directory, consents)
      const copy = config.checkpoints.loraOnly ? null : model.directory
      const others = { reference: null, critic: null, optimizer: null, model: copy, engine: directory }
      this.#saved = { lora, baseModel: hubIdOf(model.directory), actor, ...others }
      yield { type: 'checkpoint-due', step, reason: 'interval', state: this.#state }
      this.#resumeFrom = { directory: trainerCheckpoint(runDirectory, step), step }
    }
    rmSync(directory, { recursive: true, force: true })
  }

  /** Greedy answers to the validation rows, as of a run that is trained here; none where the model does not fit. */
  async *#evaluate(step: number): AsyncGenerator<RunEvent> {
    this.#run.control.onPhase?.('evaluating')
    yield* this.#plan?.source.evaluate(step) ?? []
  }

  #died({ exitCode, signal, tail }: ProgramEnd): AppError {
    const how = signal ?? `status ${exitCode ?? 'unknown'}`
    const reason = lastWords(tail)
    const { runDirectory } = this.#run
    return new AppError(
      'engine/failed',
      `${this.#title} ended after step ${this.#lastStep} before the run was over (${how})${reason === null ? '.' : `: ${reason}`}`,
      {
        text: 'What it wrote is in worker.log of the run. Its checkpoints are complete; once the cause is removed, resume from the last one.',
        command: `turnwise resume ${commandWord(path.basename(runDirectory))}`,
      },
    )
  }
}

interface TrainerCheckpoint {
  readonly directory: string
  readonly step: number
}

/** Errors: AppError 'checkpoint/invalid'. */
function trainerCheckpointOf({ checkpoint }: TrainingStart, title: string): TrainerCheckpoint {
  const { engine = null, trainer } = checkpoint
  if (engine !== null) return { directory: engine, step: trainer.step }
  throw new AppError(
    'checkpoint/invalid',
    `The checkpoint of step ${trainer.step} does not hold what ${title} needs to go on.`,
    'Nothing was changed. Start a new run with `adapter.initial` set to the checkpoint.',
  )
}

/** Refuses one from elsewhere, or that was changed, before every start: a trainer may run what it reads. Errors: AppError 'python/not-allowed'. */
function requireSealed(
  { directory, step }: TrainerCheckpoint,
  { consents }: Pick<EngineRun, 'consents'>,
  title: string,
): void {
  if (isSealed(directory, consents ?? null)) return
  throw new AppError(
    'python/not-allowed',
    `The checkpoint of step ${step} was not written in this data directory, or was changed, and what ${title} reads from one can run code with your rights.`,
    'Nothing of it was read. Start a new run with `adapter.initial` set to the checkpoint, of which weights alone are read.',
  )
}

const isDue = (every: number, step: number): boolean => every > 0 && step % every === 0

/** Difference between the trainer's log-probabilities and ours, with the same adapter, nats per token. */
interface Difference {
  readonly mean: number
  readonly max: number
}

/** null where there is nothing to compare. */
async function compare(
  policy: Policy,
  probes: SavedNews['probes'],
  temperature: number,
): Promise<Difference | null> {
  const sequences = probes.map(({ sequence }) => sequence)
  const heads = await policy.score(sequences, { role: 'actor', temperature })
  const differences = probes.flatMap(({ sequence: { ids }, logprobs }, i) => {
    const own = heads[i]?.logprobs ?? new Float64Array()
    const first = ids.length - 1 - logprobs.length
    return Array.from(logprobs, (theirs, t) => Math.abs(theirs - (own[first + t] ?? Number.NaN)))
  })
  if (differences.length === 0) return null
  const sum = differences.reduce((total, each) => total + each, 0)
  return { mean: sum / differences.length, max: Math.max(...differences) }
}

async function* withMetrics(
  events: AsyncIterable<RunEvent>,
  difference: Difference | null,
): AsyncGenerator<RunEvent> {
  const added: Metrics =
    difference === null
      ? {}
      : {
          'sampling/engine_logp_difference/mean': difference.mean,
          'sampling/engine_logp_difference/max': difference.max,
        }
  for await (const event of events)
    yield event.type === 'evaluation' ? { ...event, metrics: { ...event.metrics, ...added } } : event
}

/** Difference, in nats per token, above which the two do not compute the same model. */
const mismatchLimit = 0.1

const mismatchWords = (difference: Difference | null, title: string): string | null =>
  difference === null || difference.mean <= mismatchLimit
    ? null
    : `The log-probabilities of ${title} differ from Turnwise’s by ${difference.mean.toFixed(3)} nats per token with the same adapter: the two do not compute the same model, so evaluations here say little.`
