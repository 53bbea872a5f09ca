/** Checks, rollout by rollout, that the log-probabilities of rollout servers are those that this machine computes. */
import type { GenerateOptions } from '#engine/policy.ts'
import { AppError } from '#shared/errors.ts'
import type { RolloutServer } from './rolloutServer.ts'
import {
  adapterGap,
  bothGaps,
  type Gap,
  gapBetween,
  noGap,
  ownLogprobs,
  type StartUpOptions,
} from './startUp.ts'

/** A completion whose log-probabilities are compared; NaN where there is nothing to compare. */
export interface Compared {
  readonly server: RolloutServer
  readonly promptIds: Int32Array
  readonly options: GenerateOptions
  readonly ids: readonly number[]
  readonly logprobs: readonly number[]
}

export class GapCheck {
  readonly #options: Omit<StartUpOptions, 'server'>
  #gap: Gap = noGap

  constructor(options: Omit<StartUpOptions, 'server'>) {
    this.#options = options
  }

  /** Returns the gap since the last call, over all servers. */
  take(): Gap {
    const gap = this.#gap
    this.#gap = noGap
    return gap
  }

  /**
   * Checks the completions. Errors: AppError 'server/unsuitable' where the log-probabilities of one server are too far
   * from our own, or missing.
   */
  async require(compared: readonly Compared[]): Promise<void> {
    for (const [server, some] of Map.groupBy(compared, (each) => each.server)) {
      let gap = noGap
      const alike = Map.groupBy(some, ({ options }) => scoringOptions(options).temperature)
      for (const [temperature, own] of alike) gap = bothGaps(gap, await this.#gapOf(own, temperature))
      this.#judge(server, gap, some.some(isTelling))
    }
  }

  async #gapOf(compared: readonly Compared[], temperature: number): Promise<Gap> {
    const [first] = compared
    if (first === undefined) return noGap
    const scoring = { ...scoringOptions(first.options), temperature }
    const own = await ownLogprobs(this.#options.policy, compared, scoring)
    return compared.map(({ logprobs }, i) => gapBetween(logprobs, own[i] ?? [])).reduce(bothGaps, noGap)
  }

  /** A few tokens with an adapter that is loaded, while the parameters here are still the same. Errors: as `require`. */
  async probe(server: RolloutServer, adapter: string): Promise<void> {
    this.#judge(server, await adapterGap({ ...this.#options, server }, adapter), true)
  }

  #judge(server: RolloutServer, gap: Gap, isTold: boolean): void {
    this.#gap = bothGaps(this.#gap, gap)
    if (isTold && gap.tokens === 0) {
      const { title, remedies } = server.dialect
      throw server.unsuitable(
        `The rollout server (${title}) stopped returning log-probabilities: ${remedies.logprobs}.`,
      )
    }
    const { gapLimit } = this.#options
    if (gap.mean <= gapLimit) return
    throw new AppError(
      'server/unsuitable',
      `The log-probabilities of the rollout server at ${server.url} differ from Turnwise’s by ${gap.mean.toPrecision(3)} nats per token, more than rollout.server.gapLimit (${gapLimit}).`,
      `It may have lost the adapter, or its precision may be too low. ${server.launchHint}`,
    )
  }
}

const isTelling = ({ ids, options }: Compared): boolean => ids.length > options.sampling.minNewTokens

export const scoringOptions = ({ role, sampling, signal }: GenerateOptions) => ({
  role,
  temperature: sampling.greedy ? 1 : sampling.temperature,
  ...(signal === undefined ? {} : { signal }),
})
