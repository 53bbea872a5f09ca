/**
 * Assigns micro-batches to replicas. Those that are waiting together are shared out to replicas, each with a part of the
 * threads (data parallelism): a thread that has a micro-batch to itself waits for nobody, where the threads of one
 * product wait for each other after each of them. What cannot be shared out evenly is done one after the other with all
 * threads. The plan depends on the micro-batches alone and gradients are added in a fixed order, so a run is repeatable. Each
 * replica takes a layer's working memory and the logits of the head for its share of the tokens.
 */
import type { Heads } from '../policy.ts'
import { sharedFloats } from './adapterParameters.ts'
import type { LearnerOptions } from './learner.ts'
import { type LearningWorker, Replica } from './replica.ts'

/** Replicas must be busy for this share of the time, or all threads work on one micro-batch after the other. */
const LEAST_BUSY = 0.7

/** Logits of all replicas that exist at once: memory against a few per cent of the head's time. */
const REPLICATED_CHUNK_BYTES = 120e6

/** A micro-batch to score or to learn from. */
export interface LearningJob {
  /** Cost in tokens. */
  readonly cost: number
  readonly work: (worker: LearningWorker) => Promise<Heads[]>
}

interface WaitingJob extends LearningJob {
  readonly settle: (outcome: PromiseSettledResult<Heads[]>) => void
}

/**
 * Returns the indices of jobs for each worker, the longest first and each to the one with the least work so far (Graham
 * 1969, "Bounds on multiprocessing timing anomalies"); null where the workers would wait for each other too long.
 */
export function sharedOut(costs: readonly number[], workers: number): number[][] | null {
  const order = [...costs.keys()].sort((a, b) => costs[b]! - costs[a]! || a - b)
  const parts = Array.from({ length: workers }, () => ({ jobs: [] as number[], cost: 0 }))
  for (const job of order) {
    const least = parts.reduce((a, b) => (b.cost < a.cost ? b : a))
    least.jobs.push(job)
    least.cost += costs[job]!
  }
  const total = parts.reduce((sum, { cost }) => sum + cost, 0)
  const longest = Math.max(...parts.map(({ cost }) => cost))
  return total < LEAST_BUSY * longest * workers ? null : parts.map(({ jobs }) => jobs)
}

async function outcomeOf(
  { work }: LearningJob,
  worker: LearningWorker,
): Promise<PromiseSettledResult<Heads[]>> {
  try {
    return { status: 'fulfilled', value: await work(worker) }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}

export class LearningQueue {
  readonly #whole: LearningWorker
  readonly #options: LearnerOptions
  readonly #count: number
  readonly #gradients: Float32Array
  #replicas: readonly Replica[] | null = null
  #waiting: WaitingJob[] = []
  #isBusy = false

  /** Takes at most `replicas` replicas; `gradients` are the arrays in which the gradients of all of them add up. */
  constructor(
    whole: LearningWorker,
    options: LearnerOptions,
    { replicas, gradients }: { readonly replicas: number; readonly gradients: Float32Array },
  ) {
    this.#whole = whole
    this.#options = options
    this.#count = replicas
    this.#gradients = gradients
  }

  /** Jobs that are added in one go are done together, and settle together when the last of them has ended. */
  async add(job: LearningJob): Promise<Heads[]> {
    const outcome = await new Promise<PromiseSettledResult<Heads[]>>((settle) => {
      this.#waiting.push({ ...job, settle })
      if (!this.#isBusy) queueMicrotask(() => void this.#work())
    })
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      const jobs = this.#waiting
      this.#waiting = []
      await this.#together(jobs).then(
        (outcomes) => jobs.forEach(({ settle }, index) => settle(outcomes[index]!)),
        // Replicas could not be started: nobody may wait for ever.
        (reason: unknown) => jobs.forEach(({ settle }) => settle({ status: 'rejected', reason })),
      )
    }
    this.#isBusy = false
  }

  async #together(jobs: readonly LearningJob[]): Promise<PromiseSettledResult<Heads[]>[]> {
    const costs = jobs.map(({ cost }) => cost)
    const plan = this.#count > 1 ? sharedOut(costs, this.#count) : null
    const outcomes = new Array<PromiseSettledResult<Heads[]>>(jobs.length)
    const inTurn = async (worker: LearningWorker, indices: Iterable<number>) => {
      for (const index of indices) outcomes[index] = await outcomeOf(jobs[index]!, worker)
    }
    if (!plan) await inTurn(this.#whole, jobs.keys())
    else {
      const replicas = (this.#replicas ??= this.#start())
      await Promise.all(replicas.map((replica, index) => inTurn(replica, plan[index]!)))
      for (const replica of replicas) replica.collect(this.#gradients)
    }
    return outcomes
  }

  /** The first adds to the gradients themselves, each other one to an array of its own. */
  #start(): Replica[] {
    const { device, savedTokens, chunkBytes } = this.#options
    const options: LearnerOptions = {
      ...this.#options,
      device: { ...device, threads: Math.floor(device.threads / this.#count) },
      savedTokens: Math.floor(savedTokens / this.#count),
      chunkBytes: Math.min(chunkBytes, REPLICATED_CHUNK_BYTES / this.#count),
    }
    return Array.from(
      { length: this.#count },
      (_, index) => new Replica(options, index === 0 ? null : sharedFloats(this.#gradients.length)),
    )
  }

  [Symbol.dispose](): void {
    for (const replica of this.#replicas ?? []) replica[Symbol.dispose]()
  }
}
