/**
 * Steps of a training script: the loop requests trajectories as it does elsewhere, and the script continues with what
 * was learned.
 */
import { AppError, invalidConfig } from '#shared/errors.ts'
import type { PhaseProgress, TrainerState } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import { rewardTrajectories } from '../rollout/trajectoryRewards.ts'
import type { Prompt } from '../rollout/prompts.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import type { Collected, CompletedStep, ExperienceSource, TrainDependencies } from './dependencies.ts'
import { evaluateRollouts, greedyRollouts } from './evaluate.ts'
import { stopwatch } from './packing.ts'
import { type RolloutPlan, takesPart } from './rolloutSource.ts'
import type { ScriptRollout, ScriptRun, TrainingScript } from './script.ts'
import { Stats } from './stats.ts'
import { rolloutMetrics } from './stepMetrics.ts'

export function scriptSource(
  dependencies: TrainDependencies,
  plan: RolloutPlan,
  script: TrainingScript,
): ExperienceSource {
  const { config } = dependencies
  if (config.rollout.maxStaleness > 0) {
    const message = 'A training script says itself when the policy acts: `rollout.maxStaleness` must be 0.'
    throw invalidConfig(message)
  }
  if (config.rollout.replayShare > 0) {
    const message = 'A training script draws its prompts itself: `rollout.replayShare` must be 0.'
    throw new AppError('config/invalid', message)
  }
  let session: ScriptSession | null = null
  return {
    size: plan.prompts.length,
    tooLong: plan.tooLong,
    trajectoriesPerStep: config.rollout.promptsPerStep * plan.groupSize,
    temperature: config.rollout.temperature,
    collect(before) {
      session ??= new ScriptSession(dependencies, plan, script)
      return session.collect(before)
    },
    complete(metrics) {
      if (session === null) throw new Error('Expected a step that has begun.')
      return session.complete(metrics)
    },
    evaluate: (step) => evaluateRollouts(dependencies, plan, step),
    isOver: () => session?.isOver ?? false,
  }
}

/** The results of a step so far. */
interface Gathering {
  readonly trajectories: Trajectory[]
  /** Number of samples of each row's stream that were drawn or passed over, by row. */
  readonly taken: Map<number, number>
  readonly times: { rollout: number; reward: number }
  drawn: number
}

/** Trajectories that the script has submitted and waits for. */
interface Lesson {
  readonly trajectories: readonly Trajectory[]
  readonly learned: (metrics: Metrics) => void
}

class ScriptSession {
  readonly #dependencies: TrainDependencies
  readonly #plan: RolloutPlan
  readonly #script: TrainingScript
  readonly #stats = new Stats()
  #generator: ReturnType<TrainingScript> | null = null
  #before: TrainerState | null = null
  #isOver = false
  #gathering: Gathering = nothingGathered()
  #lesson: Lesson | null = null
  #onLesson: () => void = () => {}
  /** The step, up to its yield. */
  #turn: Promise<IteratorResult<unknown, void>> | null = null

  constructor(dependencies: TrainDependencies, plan: RolloutPlan, script: TrainingScript) {
    this.#dependencies = dependencies
    this.#plan = plan
    this.#script = script
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Runs the script until it learns or ends the step. */
  async collect(before: TrainerState): Promise<Collected | null> {
    this.#before = before
    this.#gathering = nothingGathered()
    this.#lesson = null
    this.#generator ??= this.#script(this.#run(), before.script)
    const handed = new Promise<void>((resolve) => (this.#onLesson = resolve))
    this.#turn = this.#generator.next()
    const ended = await Promise.race([handed, this.#turn])
    this.#isOver = ended?.done === true
    if (this.#isOver && this.#gathering.trajectories.length === 0) return null
    const lesson = this.#lesson as Lesson | null
    const { trajectories, times, drawn } = this.#gathering
    const { needs } = this.#dependencies.code.algorithm
    return {
      trajectories,
      candidates: (lesson?.trajectories ?? []).filter(takesPart(needs)),
      drawn,
      metrics: rolloutMetrics(trajectories),
      times,
    }
  }

  /** Passes the metrics to the script, which then ends its step. */
  async complete(metrics: Metrics): Promise<CompletedStep> {
    this.#lesson?.learned(metrics)
    const { value, done = false } = (await this.#turn) ?? {}
    this.#isOver = done
    const logged = Object.entries(this.#stats.flush()).map(([name, number]) => [`logged/${name}`, number])
    const state = done ? this.#before?.script : plainState(value)
    return { metrics: Object.fromEntries(logged) as Metrics, script: state }
  }

  #run(): ScriptRun {
    const { config, data } = this.#dependencies
    const before = () => this.#before
    return {
      config,
      get step() {
        return before()?.step ?? 0
      },
      rows: data.train,
      stats: this.#stats,
      prompts: (count = config.rollout.promptsPerStep) => this.#draw(count),
      rollout: (prompts, request = {}) => this.#rollOut(prompts, request),
      learn: (trajectories) => this.#learn(trajectories),
      evaluate: async () => {
        const { metrics } = await greedyRollouts(this.#dependencies, this.#plan, before()?.step ?? 0)
        return metrics.eval_reward ?? null
      },
    }
  }

  #draw(count: number): readonly Prompt[] {
    const from = (this.#before?.promptsDrawn ?? 0) + this.#gathering.drawn
    this.#gathering.drawn += count
    return this.#plan.draw(from, count)
  }

  async #rollOut(prompts: readonly Prompt[], { samples, greedy = false }: ScriptRollout) {
    const { config, model, code, schedule } = this.#dependencies
    const { groupSize, tokenLimit, rollOut } = this.#plan
    const { trajectories: known, times } = this.#gathering
    const watch = stopwatch()
    const step = (this.#before?.step ?? 0) + 1
    const request = { groupSize: samples ?? (greedy ? 1 : groupSize), step, source: 'training' as const }
    const { taken } = this.#gathering
    const earlier = greedy ? new Map<number, number>() : roundsBefore(taken, prompts, request.groupSize)
    const onProgress = (done: PhaseProgress) => schedule.onPhase?.('generating', done)
    const answers = await rollOut(prompts, { ...request, isGreedy: greedy, earlier, onProgress })
    times.rollout += watch.lap()
    const options = {
      rewards: code.rewards,
      onFailure: config.rewardFailures,
      step,
      tokenizer: model.tokenizer,
    }
    const firstGroup = known.reduce((next, { group }) => Math.max(next, group + 1), 0)
    const scored = (await rewardTrajectories(answers, options)).map((trajectory) => ({
      ...trajectory,
      tokenLimit,
      group: firstGroup + trajectory.group,
    }))
    times.reward += watch.lap()
    if (!greedy) known.push(...scored)
    return scored
  }

  #learn(trajectories: readonly Trajectory[]): Promise<Metrics> {
    if (this.#lesson !== null) throw scriptError('A step learns once: yield its state before learning again.')
    return new Promise((learned) => {
      this.#lesson = { trajectories, learned }
      this.#onLesson()
    })
  }
}

/**
 * Returns, by row, how many rounds of this size take all samples that the row had so far in the step, and marks the
 * rounds of `prompts` as taken too.
 */
function roundsBefore(taken: Map<number, number>, prompts: readonly Prompt[], groupSize: number) {
  const rounds = new Map(Array.from(taken, ([row, samples]) => [row, Math.ceil(samples / groupSize)]))
  for (const [row, own] of Map.groupBy(prompts, (prompt) => prompt.row))
    taken.set(row, ((rounds.get(row) ?? 0) + own.length) * groupSize)
  return rounds
}

const nothingGathered = (): Gathering => ({
  trajectories: [],
  taken: new Map(),
  times: { rollout: 0, reward: 0 },
  drawn: 0,
})

/** The state as it will be read back from a checkpoint. Errors: AppError 'script/failed'. */
function plainState(value: unknown): unknown {
  if (value === undefined) return undefined
  // JSON.stringify returns undefined for a function, for example.
  const text = JSON.stringify(value) as string | undefined
  if (text === undefined || text.length > maxStateCharacters) {
    throw scriptError(
      `What a script yields is kept in checkpoints: plain JSON of at most ${maxStateCharacters} characters.`,
    )
  }
  return JSON.parse(text) as unknown
}

const maxStateCharacters = 1_000_000

const scriptError = (message: string): AppError => new AppError('script/failed', message)
