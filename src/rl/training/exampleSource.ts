/** Trajectories of a step from given answers. Nothing is generated or rewarded. */
import type { EvaluationEvent, SamplesEvent, TrainerState } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { tallyMeans } from '../algorithms/terms/tally.ts'
import type { ConfiguredAlgorithm, LossRow } from '../algorithms/types.ts'
import {
  encodeExamples,
  type EncodedExamples,
  type Example,
  type ExampleEncoder,
} from '../rollout/examples.ts'
import { markNames } from '../rollout/marks.ts'
import { type DataRow, withSwitches } from '../rollout/prompts.ts'
import type { DrawRows } from '../rollout/rowOrder.ts'
import { singleTurnTrajectory, type Trajectory } from '../rollout/trajectory.ts'
import { evaluation, greedyRollouts, heldOutSamples } from './evaluate.ts'
import { prepareRows, score, type ScoringOptions } from './experience.ts'
import type { PlanningParts, TrainDependencies, Collected, ExperienceSource } from './dependencies.ts'
import { learningLoad, stopwatch } from './packing.ts'
import { placesOf, type RollOut } from './rollOut.ts'
import { lengthMetrics } from './stepMetrics.ts'

export interface ExamplePlan {
  readonly examples: readonly Example[]
  readonly draw: DrawRows<Example>
  readonly heldOut: readonly Example[]
  readonly tooLong: number
  readonly rollOut: RollOut
  readonly referenceRole: ScoringOptions['referenceRole']
}

/** Given answers are learned as they are. */
const temperature = 1

export function exampleSource(dependencies: TrainDependencies, plan: ExamplePlan): ExperienceSource {
  const { config, code } = dependencies
  return {
    size: plan.examples.length,
    tooLong: plan.tooLong,
    trajectoriesPerStep: config.rollout.promptsPerStep * code.algorithm.needs.unit,
    temperature,
    collect: (before) => Promise.resolve(collectStep(dependencies, plan, before)),
    evaluate: (step) => evaluateExamples(dependencies, plan, step),
  }
}

/** Every row with its answers. Errors: `data/invalid`. */
export function examplesOf(parts: PlanningParts, rows: readonly DataRow[]): EncodedExamples {
  const { config, data, code } = parts
  const { policy, tokenizer, stopIds, ...model } = parts.model
  const { answers, marks } = answerColumns(config.data, code.algorithm.experience, rows[0] ?? {})
  const limits = {
    maxPromptTokens: config.data.maxPromptTokens ?? policy.contextLength,
    maxTokens: policy.contextLength,
  }
  const { prompt: form, tools, templateVariables } = config.data
  const chatTemplate = withSwitches(model.chatTemplate, templateVariables)
  const places = placesOf(data, rows)
  return encodeExamples(
    rows,
    { form, tools, tokenizer, chatTemplate, stopIds, answers, marks, places },
    limits,
  )
}

const completionNames = ['completion', 'answer', 'output', 'response', 'target', 'solution', 'label'] as const

/**
 * The columns that given answers stand in, and their marks. Of a preference, the chosen answer comes first. Where no column
 * marks answers, those of preferences are good and bad.
 */
export function answerColumns(
  { completion, chosen, rejected, label }: RunConfig['data'],
  experience: ConfiguredAlgorithm['experience'],
  first: DataRow,
): Required<Pick<ExampleEncoder, 'answers' | 'marks'>> {
  const has = (name: string) => Object.hasOwn(first, name)
  const pair = [chosen ?? 'chosen', rejected ?? 'rejected']
  const answerBeside = (marks: string | null) => [
    completion ?? completionNames.find((name) => has(name) && name !== marks) ?? completionNames[0],
  ]
  if (experience === 'preferences') return { answers: pair, marks: null }
  if (experience !== 'marks') return { answers: answerBeside(null), marks: null }
  const marks = label ?? markNames.find(has) ?? null
  if (marks === null && pair.every(has)) return { answers: pair, marks: [true, false] }
  return { answers: answerBeside(marks), marks: marks ?? 'label' }
}

function collectStep(
  { config }: TrainDependencies,
  { draw }: ExamplePlan,
  { promptsDrawn }: TrainerState,
): Collected {
  const watch = stopwatch()
  const drawn = draw(promptsDrawn, config.rollout.promptsPerStep)
  const trajectories = givenTrajectories(drawn)
  return {
    trajectories,
    candidates: trajectories,
    drawn: drawn.length,
    metrics: lengthMetrics(trajectories),
    times: { rollout: watch.lap(), reward: 0 },
  }
}

const givenTrajectories = (examples: readonly Example[]): Trajectory[] =>
  examples.flatMap((example, group) =>
    example.answers.map((answer) => givenTrajectory(example, answer, group)),
  )

function givenTrajectory(
  { prompt }: Example,
  { ids, text, isGood }: Example['answers'][number],
  group: number,
) {
  const generated = { ids, logprobs: new Float64Array(0), stopReason: 'stop-id' } as const
  const trajectory: Trajectory = {
    ...singleTurnTrajectory(prompt, group, generated, text),
    samplerLogprobs: null,
    reward: { parts: {}, total: null, failures: [] },
    turnRewards: isGood === undefined ? [] : [Number(isGood)],
    tokenRewards: null,
  }
  return trajectory
}

/** The loss of the held-out answers; with reward functions, also the rewards of greedy answers to their prompts. */
async function* evaluateExamples(
  dependencies: TrainDependencies,
  plan: ExamplePlan,
  step: number,
): AsyncGenerator<EvaluationEvent | SamplesEvent> {
  if (plan.heldOut.length === 0) return
  const watch = stopwatch()
  const measured = await heldOutMetrics(dependencies, plan)
  const { config, model, code } = dependencies
  const room = model.policy.contextLength - config.rollout.maxNewTokens
  const heldOut = plan.heldOut.map(({ prompt }) => prompt).filter(({ ids }) => ids.length <= room)
  const { trajectories, metrics } =
    code.rewards.length === 0 || heldOut.length === 0
      ? { trajectories: [], metrics: {} }
      : await greedyRollouts(dependencies, { heldOut, rollOut: plan.rollOut }, step)
  const all = { ...measured, ...metrics, eval_time: watch.lap() }
  yield evaluation(step, plan.heldOut.length, all)
  yield* heldOutSamples(dependencies, step, trajectories)
}

/** All held-out answers as one minibatch. */
async function heldOutMetrics(
  { config, model: { policy }, code: { algorithm } }: TrainDependencies,
  { heldOut, referenceRole }: ExamplePlan,
): Promise<Metrics> {
  const load = learningLoad({ config, policy })
  const options = { policy, referenceRole, temperature, load }
  const rows = await prepareRows(givenTrajectories(heldOut), algorithm, 1, options)
  const heads = await score(
    rows.map(({ trajectory }) => trajectory),
    'actor',
    options,
  )
  const learning = rows.map((row) => row.learning)
  const lossRows = learning.map((row, i): LossRow => ({
    ...row,
    ...heads[i]!,
    behaviorLogprobs: row.behaviorLogprobs ?? heads[i]!.logprobs,
    correction: null,
  }))
  const { loss, tallies } = algorithm.minibatchLoss(learning)(lossRows)
  const named = Object.entries(tallyMeans(tallies)).map(([name, value]) => [`eval_${name}`, value])
  return { eval_loss: loss, ...(Object.fromEntries(named) as Metrics) }
}
