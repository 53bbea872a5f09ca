/**
 * The training loop, in the order of the papers. Reading guide:
 *
 *   train.ts         (here) the run: evaluate, step, step, …, checkpoint; and one step from prompts to metrics
 *   plan.ts          what a run is made of, and the numbers that follow from its config
 *   experience.ts    which forward passes are needed before the update
 *   update.ts        minibatches, micro-batches, gradients, optimizer
 *   packing.ts       how rows are cut into minibatches and micro-batches
 *   evaluate.ts      greedy decoding on held-out rows
 *   stepMetrics.ts   what a step reports
 *
 * The loop never asks which algorithm it serves and never looks at a clock except to time itself: the same config, seed
 * and state give the same events.
 */
import type { RunEvent, RunPhase, TrainerState } from '#shared/events.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { drawNext } from '../rollout/order.ts'
import type { Prompt } from '../rollout/prompts.ts'
import { rewardTrajectories } from '../rollout/rollout.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import { evaluate } from './evaluate.ts'
import { prepareRows, type TrainingRow } from './experience.ts'
import { planMinibatches } from './packing.ts'
import { initialState, planTraining, type TrainDependencies, type TrainPlan, updatesOf } from './plan.ts'
import { evenlySpaced, shownSamples } from './samples.ts'
import { rolloutMetrics, timeMetrics, updateMetrics } from './stepMetrics.ts'
import { stopwatch } from './stopwatch.ts'
import { learnFrom } from './update.ts'

/**
 * Trains until the last step, or stops after the current one when the signal says so; either way it asks for a
 * checkpoint first. Ends early with an AppError when data, rewards or numbers fail.
 */
export async function* train(dependencies: TrainDependencies): AsyncGenerator<RunEvent> {
  const plan = planTraining(dependencies)
  let state = dependencies.state ?? initialState
  if (dependencies.state === undefined || dependencies.isFork === true) {
    yield* beginning(dependencies, plan, state)
  }
  yield status('training', state, plan)
  yield* waitWherePaused(dependencies, plan, state)
  while (goesOn(dependencies, plan, state)) {
    state = yield* trainStep(dependencies, plan, state)
    yield* afterStep(dependencies, plan, state)
    yield* waitWherePaused(dependencies, plan, state)
  }
  const phase = state.step < plan.steps ? 'stopped' : 'finished'
  yield { type: 'checkpoint-due', step: state.step, reason: phase, state }
  yield status(phase, state, plan)
}

const status = (phase: RunPhase, { step }: TrainerState, { steps }: TrainPlan): RunEvent => ({
  type: 'status',
  phase,
  step,
  steps,
})

const goesOn = ({ signal }: TrainDependencies, { steps }: TrainPlan, { step }: TrainerState): boolean =>
  step < steps && signal?.aborted !== true

/** What a run says once, however often it is resumed. */
async function* beginning(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  state: TrainerState,
): AsyncGenerator<RunEvent> {
  if (plan.tooLong > 0) yield { type: 'warning', step: state.step, message: tooLongMessage(plan) }
  yield status('evaluating', state, plan)
  yield* evaluate(dependencies, plan, state.step)
}

/** A pause begins with a checkpoint: a process that is lost while it waits loses nothing. */
async function* waitWherePaused(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  state: TrainerState,
): AsyncGenerator<RunEvent> {
  const { pause } = dependencies
  if (pause?.isWanted !== true || !goesOn(dependencies, plan, state)) return
  yield { type: 'checkpoint-due', step: state.step, reason: 'paused', state }
  yield status('paused', state, plan)
  await pause.over()
  if (goesOn(dependencies, plan, state)) yield status('training', state, plan)
}

/** Evaluation and checkpoint, where they are due; the last step is always evaluated, its checkpoint follows the loop. */
async function* afterStep(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  state: TrainerState,
): AsyncGenerator<RunEvent> {
  const { evaluation, checkpoints } = dependencies.config
  const { step } = state
  const isLast = step === plan.steps
  if (isLast || isDue(evaluation.every, step)) yield* evaluate(dependencies, plan, step)
  if (!isLast && isDue(checkpoints.every, step))
    yield { type: 'checkpoint-due', step, reason: 'interval', state }
}

/** rollout → reward → score → advantage → coefficients → update → metrics. Returns the state after the step. */
async function* trainStep(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  before: TrainerState,
): AsyncGenerator<RunEvent, TrainerState> {
  const { config, algorithm } = dependencies
  const step = before.step + 1
  const watch = stopwatch()
  const prompts = nextPrompts(config, plan, before)
  const answers = await plan.rollOut(prompts, { groupSize: plan.groupSize, step, source: 'training' })
  const rollout = watch.lap()
  const trajectories = await rewardTrajectories(answers, {
    rewards: dependencies.rewards,
    onFailure: config.rewardFailures,
    step,
  })
  const reward = watch.lap()
  const rows = await rowsToLearnFrom(dependencies, trajectories)
  const score = watch.lap()
  const minibatches = minibatchesOf(rows, dependencies, step)
  const shown = evenlySpaced(trajectories, config.shownTrajectories)
  const settings = updateSettings(dependencies, plan, before)
  const summary = await learnFrom(rows, minibatches, {
    policy: dependencies.policy,
    algorithm,
    settings,
    shown: new Set(shown),
  })
  const times = { rollout, reward, score, update: watch.lap(), step: watch.total() }

  const state = stateAfter(before, prompts, trajectories, minibatches.length)
  yield* warnings(trajectories, rows, step)
  const metrics = {
    ...rolloutMetrics(trajectories),
    ...updateMetrics(summary, rows, config.rollout.mismatchCap),
    ...timeMetrics(times, trajectories, rows, config.optimization.epochs),
    epoch: state.promptsDrawn / plan.prompts.length,
    num_tokens: state.tokens,
  }
  yield { type: 'step', step, steps: plan.steps, metrics }
  if (shown.length > 0) {
    const samples = shownSamples(shown, rows, summary.heads)
    yield { type: 'samples', step, source: 'rollout', samples }
  }
  return state
}

function nextPrompts(
  { seed, data, rollout }: RunConfig,
  plan: TrainPlan,
  { promptsDrawn }: TrainerState,
): Prompt[] {
  return drawNext(plan.prompts, promptsDrawn, rollout.promptsPerStep, { seed, shuffle: data.shuffle })
}

/** Trajectories without a reward take no part. */
function rowsToLearnFrom(
  { config, policy, algorithm }: TrainDependencies,
  trajectories: readonly Trajectory[],
): Promise<TrainingRow[]> {
  const rewarded = trajectories.filter(({ reward }) => reward.total !== null)
  const updates = updatesOf(config, rewarded.length, algorithm.needs.unit)
  const { tokenBudget } = config.optimization
  return prepareRows(rewarded, algorithm, updates, {
    policy,
    temperature: config.rollout.temperature,
    tokenBudget,
  })
}

function minibatchesOf(
  rows: readonly TrainingRow[],
  { config: { optimization, seed }, algorithm }: TrainDependencies,
  step: number,
): number[][] {
  const { minibatchSize: size, epochs } = optimization
  return planMinibatches(rows.length, { size, epochs, unit: algorithm.needs.unit, seed, step })
}

function stateAfter(
  before: TrainerState,
  prompts: readonly Prompt[],
  trajectories: readonly Trajectory[],
  updates: number,
): TrainerState {
  return {
    step: before.step + 1,
    promptsDrawn: before.promptsDrawn + prompts.length,
    updates: before.updates + updates,
    tokens: before.tokens + trajectories.reduce((sum, { ids }) => sum + ids.length, 0),
  }
}

function updateSettings(dependencies: TrainDependencies, plan: TrainPlan, before: TrainerState) {
  const { optimization, rollout } = dependencies.config
  const updates = plan.steps * plan.updatesPerStep
  return {
    temperature: rollout.temperature,
    tokenBudget: optimization.tokenBudget,
    maxGradNorm: optimization.maxGradNorm ?? Infinity,
    mismatchCap: plan.correctMismatch ? rollout.mismatchCap : null,
    learningRatesOf: (update: number) => dependencies.learningRateAt(before.updates + update, updates),
  }
}

const isDue = (every: number, step: number): boolean => every > 0 && step % every === 0

const tooLongMessage = ({ tooLong }: TrainPlan): string =>
  `${tooLong} ${tooLong === 1 ? 'row was' : 'rows were'} left out because the prompt leaves no room for a completion.`

/** One sentence per thing that went wrong in the step without ending the run. */
function* warnings(
  trajectories: readonly Trajectory[],
  rows: readonly TrainingRow[],
  step: number,
): Generator<RunEvent> {
  const failures = trajectories.flatMap(({ reward }) => reward.failures)
  for (const name of new Set(failures.map((failure) => failure.name))) {
    const own = failures.filter((failure) => failure.name === name)
    const message = `The reward function "${name}" failed on ${own.length} of ${trajectories.length} completions: ${own[0]!.message}`
    yield { type: 'warning', step, message }
  }
  if (rows.length === 0) {
    yield {
      type: 'warning',
      step,
      message: 'No completion of this step teaches anything; nothing was updated.',
    }
  }
}
