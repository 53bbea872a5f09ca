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
import { generateTrajectories, rewardTrajectories } from '../rollout/rollout.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import { evaluate } from './evaluate.ts'
import { prepareRows, type TrainingRow } from './experience.ts'
import { planMinibatches } from './packing.ts'
import { initialState, planTraining, type TrainDependencies, type TrainPlan, updatesOf } from './plan.ts'
import { shownSamples } from './samples.ts'
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
  if (plan.tooLong > 0) yield { type: 'warning', step: state.step, message: tooLongMessage(plan) }
  if (state.step === 0) yield* firstEvaluation(dependencies, plan)
  yield status('training', state, plan)
  while (state.step < plan.steps && dependencies.signal?.aborted !== true) {
    state = yield* trainStep(dependencies, plan, state)
    yield* afterStep(dependencies, plan, state)
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

async function* firstEvaluation(dependencies: TrainDependencies, plan: TrainPlan): AsyncGenerator<RunEvent> {
  yield status('evaluating', initialState, plan)
  yield* evaluate(dependencies, plan, 0)
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
  const answers = await generateTrajectories(
    { prompts, groupSize: plan.groupSize, seed: config.seed, step },
    { policy: dependencies.policy, generate: plan.generate, decode: plan.decode },
  )
  const rollout = watch.lap()
  const trajectories = await rewardTrajectories(answers, {
    rewards: dependencies.rewards,
    onFailure: config.rewardFailures,
  })
  const reward = watch.lap()
  const rows = await rowsToLearnFrom(dependencies, trajectories)
  const score = watch.lap()
  const minibatches = planMinibatches(rows.length, {
    size: config.optimization.minibatchSize,
    epochs: config.optimization.epochs,
    unit: algorithm.needs.unit,
    seed: config.seed,
    step,
  })
  const settings = updateSettings(dependencies, plan, before)
  const summary = await learnFrom(rows, minibatches, { policy: dependencies.policy, algorithm, settings })
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
  const samples = shownSamples(trajectories, rows, config.shownTrajectories)
  if (samples.length > 0) yield { type: 'samples', step, source: 'rollout', samples }
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
