/**
 * One group of one real step on the longest training row: rollout, rewards, forward passes and an update with the run's
 * own settings. This changes the policy, which must be discarded afterwards. The time of a whole step is derived in
 * stepEstimate.ts.
 */
import { unfiltered } from '#engine/policy.ts'
import { mean } from '../algorithms/terms/groups.ts'
import type { DataRow } from '../rollout/prompts.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import { randomStream } from '#shared/random.ts'
import { groupSizeOf } from './conflicts.ts'
import type { TrainDependencies, Collected } from './dependencies.ts'
import { examplesOf } from './exampleSource.ts'
import { prepareRows, type TrainingRow } from './experience.ts'
import { learningLoad, stopwatch } from './packing.ts'
import { initialState, mismatchLimitOf, planTraining, type TrainPlan, updatesOf } from './plan.ts'
import { promptsOf } from './rollOut.ts'
import type { StepMeasures } from './stepEstimate.ts'
import { learnFrom } from './update.ts'
import { guardSettings, noUpdates, UpdateGuard } from './updateGuard.ts'

export type CalibrationPhase = 'generating' | 'scoring' | 'learning'

export interface Calibration {
  /** Index of the longest row among the training rows. */
  readonly row: number
  /** Rows that are left out because they are too long. */
  readonly tooLong: number
  readonly trajectories: readonly Trajectory[]
  readonly measures: StepMeasures
}

/** `batchRows`: maximum number of completions that decode together. Errors: as `train`. */
export async function calibrateStep(
  dependencies: TrainDependencies,
  batchRows: number,
  onPhase: (phase: CalibrationPhase) => void,
): Promise<Calibration> {
  const longest = longestRow(dependencies)
  const own = oneGroup(dependencies, longest, onPhase)
  const plan = planTraining(own)
  const {
    config,
    code: { algorithm },
  } = dependencies
  const isActing = algorithm.experience === 'rollout'
  onPhase(isActing ? 'generating' : 'learning')
  if (isActing) await warmUpDecoding(own)
  const collected = await plan.source.collect(initialState)
  if (collected === null) throw new Error('Expected trajectories of a first step.')
  const { trajectories, times } = collected
  const rows = Math.min(batchRows, config.rollout.promptsPerStep * groupSizeOf(config, algorithm))
  const decoding = isActing ? await decodingTimes(own, promptOf(trajectories), rows) : null
  onPhase('learning')
  const copies = copiesIn(trajectories, dependencies)
  const learned = await learn(own, plan, repeated(everyCandidate(own, collected), copies))
  const promptTokens = trajectories.map(({ prompt }) => prompt.ids.length)
  return {
    row: longest.row,
    tooLong: longest.tooLong,
    trajectories,
    measures: {
      isActing,
      groupSize: trajectories.length,
      longestPrompt: mean(promptTokens),
      meanPrompt: longest.meanTokens ?? mean(promptTokens),
      rowTokens: mean(trajectories.map(({ ids }) => ids.length)),
      decoding,
      seconds: { generating: times.rollout, scoring: times.reward, ...learned.seconds },
      learnedTokens: learned.tokens,
    },
  }
}

/** Removes what only whole steps have: several prompts, minibatches, rounds that replace zero-variance groups. */
function oneGroup(
  dependencies: TrainDependencies,
  { row, columns }: LongestRow,
  onPhase: (phase: CalibrationPhase) => void,
): TrainDependencies {
  const { config, model, data, code, schedule } = dependencies
  const { state: _state, stage: _stage, ...anew } = schedule
  return {
    model,
    schedule: anew,
    config: {
      ...config,
      steps: 1,
      rollout: { ...config.rollout, promptsPerStep: 1, maxStaleness: 0 },
      optimization: { ...config.optimization, minibatchSize: null },
    },
    code: {
      ...code,
      algorithm: { ...code.algorithm, acceptance: null },
      rewards: code.rewards.map((spec) => ({
        ...spec,
        function: {
          ...spec.function,
          score(inputs) {
            onPhase('scoring')
            return spec.function.score(inputs)
          },
        },
      })),
    },
    data: { train: [columns], heldOut: [], places: { train: [data.places?.train[row] ?? row], heldOut: [] } },
  }
}

interface LongestRow {
  readonly row: number
  readonly columns: DataRow
  readonly tooLong: number
  /** Mean over the prompts that are used; null if an environment writes them. */
  readonly meanTokens: number | null
}

/** An environment's prompts are known only when its episodes begin, so there it is the row with the most text. */
function longestRow(dependencies: TrainDependencies): LongestRow {
  const { algorithm, environment } = dependencies.code
  const { train } = dependencies.data
  if (algorithm.experience !== 'rollout') {
    const { examples, tooLong } = examplesOf(dependencies, train)
    const lengths = examples.map(
      ({ prompt, answers }) => prompt.ids.length + Math.max(...answers.map(({ ids }) => ids.length)),
    )
    const { prompt } = examples[indexOfLargest(lengths)]!
    return { ...prompt, tooLong: tooLong.length, meanTokens: mean(lengthsOf(examples)) }
  }
  const { prompts, tooLong } = promptsOf(dependencies, train)
  const lengths = environment
    ? prompts.map(({ columns }) => JSON.stringify(columns).length)
    : prompts.map(({ ids }) => ids.length)
  const { row, columns } = prompts[indexOfLargest(lengths)]!
  return { row, columns, tooLong: tooLong.length, meanTokens: environment ? null : mean(lengths) }
}

const lengthsOf = (examples: readonly { readonly prompt: { readonly ids: Int32Array } }[]): number[] =>
  examples.map(({ prompt }) => prompt.ids.length)

const indexOfLargest = (values: readonly number[]): number =>
  values.reduce((best, value, i) => (value > values[best]! ? i : best), 0)

const promptOf = ([first]: readonly Trajectory[]): Int32Array => first?.prompt.ids ?? new Int32Array(0)

interface Learned {
  readonly seconds: { readonly forward: number; readonly update: number }
  /** Tokens of all trajectories in the update. */
  readonly tokens: number
}

/** Enough tokens to measure the time of one. */
const decodedTokens = 6
/** Keeps these random numbers apart from all others. */
const TRIAL_PURPOSE = 0xca11

/** Time per prompt and per token, for the group and for as many completions as decode together in a whole step. */
async function decodingTimes(
  dependencies: TrainDependencies,
  prompt: Int32Array,
  batchRows: number,
): Promise<StepMeasures['decoding']> {
  const { config, code, model } = dependencies
  const groupRows = groupSizeOf(config, code.algorithm)
  if (prompt.length === 0 || prompt.length + decodedTokens > model.policy.contextLength) return null
  const group = await decodeOnce(dependencies, prompt, groupRows)
  const batch =
    batchRows === groupRows ? group : await decodeOnce(dependencies, prompt, Math.max(1, batchRows))
  return { promptSeconds: group.prompt, slowdown: batch.token / Math.max(group.token, 1e-9), batchRows }
}

/** The first generation also prepares the program. */
async function warmUpDecoding(dependencies: TrainDependencies): Promise<void> {
  const { config, code, model } = dependencies
  const prompt = Int32Array.of(0)
  if (prompt.length + decodedTokens > model.policy.contextLength) return
  await decodeOnce(dependencies, prompt, groupSizeOf(config, code.algorithm))
}

/** Seconds until the first token, and per token after it. */
async function decodeOnce(
  { model: { policy }, config: { seed } }: TrainDependencies,
  promptIds: Int32Array,
  rows: number,
): Promise<{ readonly prompt: number; readonly token: number }> {
  const watch = stopwatch()
  const streams = Array.from({ length: rows }, (_, sample) => randomStream(seed, TRIAL_PURPOSE, sample))
  const first: { seconds: number | null } = { seconds: null }
  const onToken = () => void (first.seconds ??= watch.total())
  for await (const _ of policy.generate([{ promptIds, streams }], { role: 'actor', sampling, onToken }));
  const all = watch.total()
  const prompt = first.seconds ?? all
  return { prompt, token: (all - prompt) / (decodedTokens - 1) }
}

const sampling = { ...unfiltered, minNewTokens: decodedTokens, maxNewTokens: decodedTokens }

/**
 * All trajectories that have tokens. If all earned the same, or nothing, nothing might be learned; time and memory are
 * therefore measured as if every second one had earned a reward.
 */
function everyCandidate(
  { config }: TrainDependencies,
  { trajectories, candidates }: Pick<Collected, 'trajectories' | 'candidates'>,
): Trajectory[] {
  const known = new Set(candidates)
  const tokenLimit = candidates[0]?.tokenLimit ?? config.rollout.maxNewTokens
  return trajectories
    .filter(({ completionTokens }) => completionTokens > 0)
    .map((trajectory) =>
      known.has(trajectory) ? trajectory : { ...trajectory, tokenLimit, baselineReward: 0 },
    )
}

/** Returns how often the group fits into a micro-batch, as far as a whole step has that much to learn from. */
function copiesIn(trajectories: readonly Trajectory[], dependencies: TrainDependencies): number {
  const { config, model } = dependencies
  const { minibatchSize } = config.optimization
  const tokens = trajectories.reduce((sum, { ids }) => sum + ids.length, 0)
  const fitting = Math.floor(learningLoad({ config, policy: model.policy }).tokens / Math.max(tokens, 1))
  const atOnce = Math.floor((minibatchSize ?? Infinity) / trajectories.length)
  return Math.max(1, Math.min(fitting, atOnce, config.rollout.promptsPerStep))
}

/**
 * The same group repeated, each copy a group of its own with another first token, so that they have no prefix in common.
 * What the sampler recorded belongs to the original's tokens: copies go without, so they are neither compared with it nor
 * corrected by it.
 */
function repeated(trajectories: readonly Trajectory[], copies: number): Trajectory[] {
  const first = trajectories[0]?.ids[0] ?? 0
  const copyOf = (original: Trajectory, group: number): Trajectory => {
    if (group === 0) return { ...original, group }
    const { routes: _, ...trajectory } = original
    const ids = trajectory.ids.slice()
    ids[0] = group <= first ? group - 1 : group
    return { ...trajectory, ids, samplerLogprobs: null, group }
  }
  return Array.from({ length: copies }, (_, group) => trajectories.map((each) => copyOf(each, group))).flat()
}

/** Forward passes over the trajectories, and one update with all of them. */
async function learn(
  dependencies: TrainDependencies,
  { source, referenceRole, correctMismatch }: TrainPlan,
  candidates: readonly Trajectory[],
): Promise<Learned> {
  const { config, model, code, schedule } = dependencies
  const { policy, tokenizer, device = 'cpu' } = model
  const { algorithm } = code
  const { unit } = algorithm.needs
  const [first] = candidates
  if (first === undefined || candidates.length % unit !== 0) return nothingLearned
  const { maxGradNorm } = config.optimization
  const load = learningLoad({ config, policy })
  const { temperature } = source
  await warmUpLearning(dependencies, first, temperature)
  const options = { policy, referenceRole, temperature, load }
  const updates = updatesOf(config, candidates.length, unit)
  const watch = stopwatch()
  let rows = await prepareRows(candidates, algorithm, updates, options)
  if (rows.length < candidates.length) {
    watch.lap()
    rows = await prepareRows(candidates.map(differentlyRewarded), algorithm, updates, options)
  }
  const forward = watch.lap()
  if (rows.length === 0) return nothingLearned
  const settings = {
    temperature,
    load,
    maxGradNorm: maxGradNorm ?? Infinity,
    mismatchLimit: correctMismatch ? mismatchLimitOf(config) : null,
    skipsZeroAdvantages: false,
    learningRatesAt: (update: number) => schedule.learningRatesAt(update, 1),
  }
  const guard = new UpdateGuard(guardSettings(config, { temperature, device }), 1, noUpdates)
  await learnFrom(rows, [rows.map((_, i) => i)], {
    policy,
    algorithm,
    settings,
    guard,
    tokenizer,
    shown: new Set<Trajectory>(),
  })
  return { seconds: { forward, update: watch.lap() }, tokens: tokensOf(rows) }
}

const nothingLearned: Learned = { seconds: { forward: 0, update: 0 }, tokens: 0 }

const tokensOf = (rows: readonly TrainingRow[]): number =>
  rows.reduce((sum, { trajectory }) => sum + trajectory.ids.length, 0)

function differentlyRewarded(trajectory: Trajectory, i: number): Trajectory {
  const total = i % 2
  const turns = Math.max(1, trajectory.turnRewards.length)
  const turnRewards = Array.from({ length: turns }, (_, turn) => (turn === turns - 1 ? total : 0))
  return {
    ...trajectory,
    baselineReward: trajectory.baselineReward === null ? null : 0.5,
    reward: { ...trajectory.reward, total },
    turnRewards,
    tokenRewards: null,
  }
}

/** The first pass also prepares the programs, in every replica: a few tokens are enough for that. */
async function warmUpLearning(
  { model: { policy }, code: { algorithm } }: TrainDependencies,
  { ids }: Trajectory,
  temperature: number,
): Promise<void> {
  const few = ids.subarray(0, 8)
  const actionMask = new Uint8Array(few.length - 1).fill(1, few.length - 2)
  const ones = new Float64Array(few.length - 1).fill(1)
  const options = { temperature, entropyGradient: algorithm.needs.entropyGradient }
  const values = algorithm.needs.values ? ones : null
  const answer = [{ logprobs: ones, entropies: algorithm.needs.entropyGradient ? ones : null, values }]
  const once = () => policy.accumulate([{ ids: few, actionMask }], options, () => answer)
  await Promise.all(Array.from({ length: policy.replicas }, once))
  policy.discardGradients()
}
