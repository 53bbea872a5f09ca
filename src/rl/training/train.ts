/**
 * The training loop, in the order of the papers. Reading guide:
 *
 *   train.ts         (here) the run: evaluate, step, step, …, checkpoint; and one step from prompts to metrics
 *   dependencies.ts  what a run is made of; plan.ts: the numbers that follow from its config and data
 *   conflicts.ts     settings that do not fit each other
 *   rolloutSource.ts trajectories of the policy that acts (rollOut.ts says in what); aheadSource.ts: it acts while it
 *                    learns; exampleSource.ts: given answers
 *   experience.ts    which forward passes are needed before the update
 *   update.ts        minibatches, micro-batches, gradients, optimizer; updateGuard.ts: whether its numbers can be right
 *   packing.ts       how rows are cut into minibatches and micro-batches
 *   evaluate.ts      greedy decoding on held-out rows
 *   stepMetrics.ts   what a step reports
 *
 * The loop never asks which algorithm it serves and never looks at a clock except to time itself: the same config, seed
 * and state give the same events.
 */
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { reasonWords } from '#shared/reasons.ts'
import type { RunEvent, RunPhase, TrainerState } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import { readerOf } from './conflicts.ts'
import { prepareRows, type TrainingRow } from './experience.ts'
import { planMinibatches, learningLoad, stopwatch } from './packing.ts'
import type {
  TrainDependencies,
  Collected,
  ExperienceSource,
  Schedule,
  TrainedModel,
} from './dependencies.ts'
import { initialState, mismatchLimitOf, planTraining, type TrainPlan, updatesOf } from './plan.ts'
import { shownSamples, spreadGroups } from './samples.ts'
import { timeMetrics, updateMetrics, valueMetrics } from './stepMetrics.ts'
import { learnFrom } from './update.ts'
import { guardSettings, UpdateGuard } from './updateGuard.ts'

/**
 * Trains until the last step, or stops after the current one when the signal says so; either way it asks for a
 * checkpoint first. Of a run of several stages it is one of them. Returns where it stands. Ends early with an AppError
 * when data, rewards or numbers fail, and at its end with 'reward/none' when nothing was ever scored.
 */
export async function* train(dependencies: TrainDependencies): AsyncGenerator<RunEvent, TrainerState> {
  const plan = planTraining(dependencies)
  let state = dependencies.schedule.state ?? initialState
  try {
    if (isBeginning(dependencies, plan, state)) yield* beginning(dependencies, plan, state)
    yield status('training', state, plan)
    yield* waitWherePaused(dependencies, plan, state)
    while (goesOn(dependencies, plan, state)) {
      state = yield* trainStep(dependencies, plan, state)
      yield* afterStep(dependencies, plan, state)
      yield* waitWherePaused(dependencies, plan, state)
    }
    yield* ending(dependencies, plan, state)
    return state
  } finally {
    await plan.source.close?.()
  }
}

/** The last checkpoint; a stage that others follow does not report the end of the run. */
function* ending(dependencies: TrainDependencies, plan: TrainPlan, state: TrainerState): Generator<RunEvent> {
  dependencies.schedule.onPhase?.('saving')
  const phase = endPhase(plan, state)
  const isStageOnly = isStageOver(plan, state) && !plan.isLastStage
  const goesOnElsewhere = isStageOnly || isTakenUp(dependencies, plan, state)
  const fault = unscored(dependencies, plan, state)
  const isPartly = goesOnElsewhere || fault !== null
  yield { type: 'checkpoint-due', step: state.step, reason: isPartly ? 'interval' : phase, state }
  if (fault !== null) throw fault
  if (!goesOnElsewhere || isHeld(dependencies.schedule, state)) yield status(phase, state, plan)
}

const endPhase = ({ steps, source }: TrainPlan, { step }: TrainerState): 'finished' | 'stopped' =>
  step >= steps || source.isOver?.() === true ? 'finished' : 'stopped'

/** Error of a stage that was not trained although all its steps were taken; null if it goes on, or was trained. */
function unscored(
  { code: { algorithm, script } }: TrainDependencies,
  plan: TrainPlan,
  state: TrainerState,
): AppError | null {
  const { step, isScored = true } = state
  const { firstStep } = plan
  const { rewards } = algorithm.needs
  // A script may learn from other numbers than rewards.
  const isJudged = algorithm.experience === 'rollout' && script === undefined
  if (isScored || !isJudged || step === firstStep || !isStageOver(plan, state)) return null
  const fault = rewards
    ? 'got a reward: everything that gives rewards failed or did not apply each time'
    : 'has a token: every episode ended before the first'
  return new AppError(
    'reward/none',
    `No completion of ${plural(step - firstStep, 'step')} ${fault}. The model was not trained; checkpoints and samples are kept.`,
    'The warnings of the steps say what failed. Correct it, then train again.',
  )
}

/** Tells whether the next steps of the stage have other settings. */
const isTakenUp = (dependencies: TrainDependencies, plan: TrainPlan, state: TrainerState): boolean =>
  isChanging(dependencies.schedule, state) && !isStageOver(plan, state)

/** Tells whether the stage is beginning: a resumed run has begun before; a later stage begins where the one before it ended. */
const isBeginning = (
  { schedule: { state: given, isFork } }: TrainDependencies,
  { stage, firstStep }: TrainPlan,
  state: TrainerState,
): boolean => given === undefined || isFork === true || (stage > 0 && state.step === firstStep)

const isStageOver = ({ lastStep, source }: TrainPlan, { step }: TrainerState): boolean =>
  step >= lastStep || source.isOver?.() === true

const status = (phase: RunPhase, { step }: TrainerState, { steps }: TrainPlan): RunEvent => ({
  type: 'status',
  phase,
  step,
  steps,
})

const goesOn = (dependencies: TrainDependencies, plan: TrainPlan, state: TrainerState): boolean =>
  !isStageOver(plan, state) &&
  !isHeld(dependencies.schedule, state) &&
  !isChanging(dependencies.schedule, state)

/** Tells whether the run was asked to end here, although it may not be over. */
export const isHeld = (
  { signal, until = Infinity }: Pick<Schedule, 'signal' | 'until'>,
  { step }: TrainerState,
): boolean => step >= until || signal?.aborted === true

/** Tells whether the steps after this one have other settings. */
export const isChanging = ({ change }: Pick<Schedule, 'change'>, { step }: TrainerState): boolean =>
  step >= (change?.after ?? Infinity)

/** Yields the events of a stage's beginning, once per stage, however often it is resumed. */
async function* beginning(
  { schedule: { onPhase }, data, model }: TrainDependencies,
  plan: TrainPlan,
  state: TrainerState,
): AsyncGenerator<RunEvent> {
  const { source } = plan
  if (source.tooLong > 0)
    yield { type: 'warning', step: state.step, message: tooLongMessage(source.tooLong, model) }
  if (data.heldOut.length === 0) return
  yield status('evaluating', state, plan)
  onPhase?.('evaluating')
  yield* source.evaluate(state.step)
}

/** A pause begins with a checkpoint, so a process that dies while it waits loses nothing. */
async function* waitWherePaused(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  state: TrainerState,
): AsyncGenerator<RunEvent> {
  const { pause } = dependencies.schedule
  if (pause?.isWanted !== true || !goesOn(dependencies, plan, state)) return
  yield { type: 'checkpoint-due', step: state.step, reason: 'paused', state }
  yield status('paused', state, plan)
  await pause.over()
  if (goesOn(dependencies, plan, state)) yield status('training', state, plan)
}

/** Evaluation and checkpoint, where they are due; the last step of a stage is always evaluated, its checkpoint follows the loop. */
async function* afterStep(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  state: TrainerState,
): AsyncGenerator<RunEvent> {
  const { evaluation, checkpoints } = dependencies.config
  const { step } = state
  const { until, onPhase } = dependencies.schedule
  const isLast = isStageOver(plan, state)
  if (isLast || step === until || isDue(evaluation.every, step)) {
    onPhase?.('evaluating')
    yield* plan.source.evaluate(step)
  }
  if (!isLast && step !== until && isDue(checkpoints.every, step)) {
    onPhase?.('saving')
    yield { type: 'checkpoint-due', step, reason: 'interval', state }
  }
}

/** collect (rollout, reward) → score → advantage → coefficients → update → metrics. Returns the state after the step. */
async function* trainStep(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  before: TrainerState,
): AsyncGenerator<RunEvent, TrainerState> {
  const { config, model, code, schedule } = dependencies
  const { policy, tokenizer } = model
  const { onPhase } = schedule
  const step = before.step + 1
  const watch = stopwatch()
  onPhase?.('generating')
  const collected = await plan.source.collect(before)
  if (collected === null) return before
  watch.lap()
  onPhase?.('scoring')
  const rows = await rowsToLearnFrom(dependencies, plan, collected.candidates)
  const score = watch.lap()
  onPhase?.('learning')
  const minibatches = minibatchesOf(rows, dependencies, step)
  const { trajectories } = collected
  const shown = spreadGroups(trajectories, config.shownTrajectories)
  const settings = updateSettings(dependencies, plan, before)
  const guard = updateGuard(dependencies, plan, before)
  const learning = { policy, algorithm: code.algorithm, settings, guard, shown: new Set(shown), tokenizer }
  const summary = await learnFrom(rows, minibatches, learning)
  const times = { ...collected.times, score, update: watch.lap(), step: watch.total() }

  const isScored = code.algorithm.needs.rewards
    ? trajectories.some(hasReward)
    : collected.candidates.length > 0
  const state = stateAfter(before, { ...collected, isScored }, minibatches.length, guard)
  await refreshReference(dependencies, plan, before, state)
  yield* warnings(trajectories, rows, step)
  yield* notes(policy, guard.warning(minibatches.length), step)
  const own = {
    ...collected.metrics,
    ...model.rolloutMetrics?.(),
    ...code.rewardMetrics?.(),
    ...updateMetrics(summary, rows, mismatchLimitOf(config)),
    ...valueMetrics(rows),
    ...timeMetrics(times, trajectories, rows, config.optimization.epochs),
    epoch: state.promptsDrawn / plan.source.size,
    num_tokens: state.tokens,
  }
  const { metrics, ...added } = await completedBy(plan.source, own)
  yield { type: 'step', step, steps: plan.steps, metrics }
  const samples = shownSamples(shown, rows, summary.heads)
  if (samples.length > 0) yield { type: 'samples', step, source: 'rollout', samples }
  return { ...state, ...added }
}

/** Metrics of the policy and the update guard. */
function* notes(policy: TrainedModel['policy'], skipped: string | null, step: number): Generator<RunEvent> {
  const messages = [...(policy.takeNotes?.() ?? []), ...(skipped === null ? [] : [skipped])]
  for (const message of messages) yield { type: 'warning', step, message }
}

/** Metrics added by a script. */
async function completedBy(
  source: ExperienceSource,
  own: Metrics,
): Promise<{ readonly metrics: Metrics; readonly script?: unknown }> {
  if (source.complete === undefined) return { metrics: own }
  const { metrics, script } = await source.complete(own)
  return { metrics: { ...own, ...metrics }, script }
}

function rowsToLearnFrom(
  { config, model: { policy }, code: { algorithm } }: TrainDependencies,
  { source, referenceRole }: TrainPlan,
  candidates: readonly Trajectory[],
): Promise<TrainingRow[]> {
  const updates = updatesOf(config, candidates.length, algorithm.needs.unit)
  const load = learningLoad({ config, policy })
  const { temperature } = source
  return prepareRows(candidates, algorithm, updates, { policy, referenceRole, temperature, load })
}

/** Refreshes the reference after the step that made it due, so that a checkpoint of that step holds the reference of the next one. */
async function refreshReference(
  { config, model: { policy } }: TrainDependencies,
  { source, firstStep }: TrainPlan,
  before: TrainerState,
  after: TrainerState,
): Promise<void> {
  const { refreshSteps, refreshPasses, mixing } = config.reference
  const passesOf = ({ promptsDrawn }: TrainerState) =>
    Math.floor(promptsDrawn / source.size / (refreshPasses ?? Infinity))
  const isDueNow =
    (refreshSteps !== null && isDue(refreshSteps, after.step - firstStep)) ||
    passesOf(after) > passesOf(before)
  if (isDueNow) await policy.refreshReference(mixing)
}

function minibatchesOf(
  rows: readonly TrainingRow[],
  { config: { optimization, seed }, code: { algorithm } }: TrainDependencies,
  step: number,
): number[][] {
  const { minibatchSize: size, epochs } = optimization
  return planMinibatches(rows.length, { size, epochs, unit: algorithm.needs.unit, seed, step })
}

const stateAfter = (
  before: TrainerState,
  { trajectories, drawn, unsolved, isScored }: Collected & { readonly isScored: boolean },
  updates: number,
  { history: updateHistory }: UpdateGuard,
): TrainerState => ({
  step: before.step + 1,
  stage: before.stage,
  promptsDrawn: before.promptsDrawn + drawn,
  updates: before.updates + updates,
  tokens: before.tokens + trajectories.reduce((sum, { ids }) => sum + ids.length, 0),
  updateHistory,
  isScored: before.isScored !== false || isScored,
  ...(unsolved === undefined ? {} : { unsolved }),
})

/** Tells whether anything scored the trajectory; the zero that a failure counts as is no score. */
function hasReward({ reward: { total, parts, failures } }: Trajectory): boolean {
  if (failures.length === 0) return total !== null
  const failed = new Set(failures.map(({ name }) => name))
  return Object.entries(parts).some(([name, value]) => value !== null && !failed.has(name))
}

function updateGuard(
  { config, model: { device = 'cpu' } }: TrainDependencies,
  { source }: TrainPlan,
  before: TrainerState,
) {
  const settings = guardSettings(config, { temperature: source.temperature, device })
  return new UpdateGuard(settings, before.step + 1, before.updateHistory)
}

function updateSettings(dependencies: TrainDependencies, plan: TrainPlan, before: TrainerState) {
  const { config, model, schedule } = dependencies
  const updates = (plan.lastStep - plan.firstStep) * plan.updatesPerStep
  return {
    temperature: plan.source.temperature,
    load: learningLoad({ config, policy: model.policy }),
    maxGradNorm: config.optimization.maxGradNorm ?? Infinity,
    mismatchLimit: plan.correctMismatch ? mismatchLimitOf(config) : null,
    skipsZeroAdvantages: config.optimization.zeroAdvantages === 'skip',
    learningRatesAt: (update: number) => schedule.learningRatesAt(before.updates + update, updates),
  }
}

const isDue = (every: number, step: number): boolean => every > 0 && step % every === 0

const tooLongMessage = (tooLong: number, model: TrainedModel): string =>
  `${plural(tooLong, 'row was', 'rows were')} left out because prompt and completion do not fit in ${readerOf(model)}’s context together.`

/** Workflow and environment report under these names. */
function failingPart(name: string, trajectories: readonly Trajectory[]): string {
  const isWorkflow = name === 'workflow' && trajectories.some(({ workflow }) => workflow !== undefined)
  const isEnvironment = name === 'environment' && trajectories.some(({ episode }) => episode !== null)
  return isWorkflow || isEnvironment ? `The ${name}` : `The reward function “${name}”`
}

/** One sentence per error of the step that did not end the run. */
function* warnings(
  trajectories: readonly Trajectory[],
  rows: readonly TrainingRow[],
  step: number,
): Generator<RunEvent> {
  const failures = trajectories.flatMap(({ reward }) => reward.failures)
  for (const name of new Set(failures.map((failure) => failure.name))) {
    const own = failures.filter((failure) => failure.name === name)
    const message = `${failingPart(name, trajectories)} failed on ${own.length} of ${plural(trajectories.length, 'completion')}: ${reasonWords(own.map(({ message: reason }) => reason))}`
    yield { type: 'warning', step, message }
  }
  if (rows.length === 0) {
    yield {
      type: 'warning',
      step,
      message: 'No completion of this step has a learning signal; nothing was updated.',
    }
  }
}
