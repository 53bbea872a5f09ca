/**
 * Rollouts ahead of learning: while the policy learns step n, the trajectories of steps n+1 to n+k are generated, by the
 * policies that had learned n−k to n−1 steps. So a step's trajectories are at most k steps older than the policy that learns
 * from them (the bound η on staleness of AReaL: Fu et al. 2025, arXiv:2505.24298), and how old does not depend on how long
 * anything takes: the step n+k begins with the parameters that step n is about to change. A resumed run begins anew with
 * its current parameters, so the trajectories of its first k steps are less old.
 */
import type { PolicySnapshot } from '#engine/policy.ts'
import { invalidConfig } from '#shared/errors.ts'
import type { TrainerState } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import type { Trajectory } from '../rollout/trajectory.ts'
import type { Collected, ExperienceSource, TrainDependencies } from './dependencies.ts'
import { stopwatch } from './packing.ts'
import type { ActingPolicy, RollOut } from './rollOut.ts'
import { collectStep, type RolloutPlan, rolloutSource } from './rolloutSource.ts'

export interface AheadPlan extends RolloutPlan {
  /** Rollouts by a policy that is not the one that learns, until the signal says otherwise. */
  readonly rollOutAs: (policy: ActingPolicy, signal: AbortSignal) => RollOut
  /** No step follows it. */
  readonly lastStep: number
}

type Before = Pick<TrainerState, 'step' | 'promptsDrawn'>

/** Errors: AppError 'config/invalid' where the policy cannot generate while it learns. */
export function aheadSource(dependencies: TrainDependencies, plan: AheadPlan): ExperienceSource {
  const { policy } = dependencies.model
  const snapshot = policy.snapshot?.bind(policy)
  if (snapshot === undefined) {
    throw invalidConfig('This machine cannot generate while it learns: `rollout.maxStaleness` must be 0.')
  }
  const ahead = new Ahead(dependencies, plan, snapshot)
  return {
    ...rolloutSource(dependencies, plan),
    collect: (before) => ahead.collect(before),
    close: () => ahead.close(),
  }
}

class Ahead {
  readonly #dependencies: TrainDependencies
  readonly #plan: AheadPlan
  readonly #snapshot: () => Promise<PolicySnapshot>
  readonly #begun = new Map<number, Promise<Collected>>()
  readonly #end = new AbortController()
  /** The step being waited for, if any: only its progress is reported. */
  #awaited: number | null = null

  constructor(dependencies: TrainDependencies, plan: AheadPlan, snapshot: () => Promise<PolicySnapshot>) {
    this.#dependencies = dependencies
    this.#plan = plan
    this.#snapshot = snapshot
  }

  async collect(before: Before): Promise<Collected> {
    const { maxStaleness } = this.#dependencies.config.rollout
    const step = before.step + 1
    const watch = stopwatch()
    await this.#begin(before, step, step + maxStaleness - 1)
    const collected = await this.#take(step)
    await this.#begin(before, step + 1, step + maxStaleness)
    return {
      ...collected,
      metrics: { ...collected.metrics, ...stalenessMetrics(collected, before) },
      times: { rollout: watch.lap(), reward: 0, background: collected.times.rollout },
    }
  }

  async #take(step: number): Promise<Collected> {
    this.#awaited = step
    try {
      return await this.#begun.get(step)!
    } finally {
      this.#awaited = null
      this.#begun.delete(step)
    }
  }

  /** Begins those of the steps from `first` to `last` that have not begun, with the current parameters. */
  async #begin(before: Before, first: number, last: number): Promise<void> {
    const { change, until = Infinity } = this.#dependencies.schedule
    const end = Math.min(last, this.#plan.lastStep, until, change?.after || Infinity)
    for (let step = first; step <= end; step++) {
      if (this.#begun.has(step)) continue
      const snapshot = await this.#snapshot()
      const collecting = this.#collectWith(snapshot, before, step)
      // Whoever takes it learns of its failure.
      collecting.catch(() => undefined)
      this.#begun.set(step, collecting)
    }
  }

  async #collectWith(snapshot: PolicySnapshot, before: Before, step: number): Promise<Collected> {
    using acting = snapshot
    const { model, config, schedule } = this.#dependencies
    const { vocabSize, contextLength } = model.policy
    const generate: ActingPolicy['generate'] = (requests, options) => acting.generate(requests, options)
    const rollOut = this.#plan.rollOutAs({ vocabSize, contextLength, generate }, this.#end.signal)
    const drawnBetween = (step - 1 - before.step) * config.rollout.promptsPerStep
    const own = { step: step - 1, promptsDrawn: before.promptsDrawn + drawnBetween }
    const dependencies: TrainDependencies = {
      ...this.#dependencies,
      schedule: {
        ...schedule,
        onPhase: (phase, progress) => {
          if (this.#awaited === step) schedule.onPhase?.(phase, progress)
        },
      },
    }
    return withoutGaps(await collectStep(dependencies, { ...this.#plan, rollOut }, own, before.step))
  }

  async close(): Promise<void> {
    this.#end.abort()
    await Promise.allSettled(this.#begun.values())
  }
}

/** Drops sampler records with gaps: the policy that could fill them in is no longer there. */
function withoutGaps(collected: Collected): Collected {
  const whole = new Map(collected.trajectories.map((trajectory) => [trajectory, withWholeRecord(trajectory)]))
  return {
    ...collected,
    trajectories: [...whole.values()],
    candidates: collected.candidates.map((trajectory) => whole.get(trajectory) ?? trajectory),
  }
}

const withWholeRecord = (trajectory: Trajectory): Trajectory =>
  trajectory.samplerLogprobs?.some(Number.isNaN) === true
    ? { ...trajectory, samplerLogprobs: null }
    : trajectory

/** Reports how many steps the policy has learned from since it chose the tokens, mean over tokens. */
function stalenessMetrics({ trajectories }: Collected, { step }: Before): Metrics {
  const tokens = trajectories.reduce((sum, { completionTokens }) => sum + completionTokens, 0)
  const stale = trajectories.reduce(
    (sum, { completionTokens, version = step }) => sum + completionTokens * (step - version),
    0,
  )
  return tokens === 0 ? {} : { 'rollout/staleness': stale / tokens }
}
