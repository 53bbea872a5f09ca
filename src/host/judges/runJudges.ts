/** Opens the judges of a run, an evaluation or a trial for the rewards that name them, and adds up their counts. */
import { judgeDescription, judgeFunction, parseJudge, type GivenJudgeSettings } from '#shared/config/judge.ts'
import type { Metrics } from '#shared/metrics.ts'
import { eachSample, type RewardFunction } from '#rl/rewards.ts'
import { countBeside } from '#host/outboundRequests.ts'
import type { OpenJudge } from '#host/code/resolveRewards.ts'
import { AddressJudge } from './addressJudge.ts'
import { Judge } from './judge.ts'
import { JudgeLog } from './judgeLog.ts'
import { LocalJudge } from './localJudge.ts'

export interface JudgesPlace {
  /** Folder of their answers; null: they are not kept. */
  readonly folder: string | null
  /** True if answers are read, but another process may be writing there. */
  readonly isReadOnly?: boolean
  /** False: judges behind an address are not asked, and say nothing of any completion. */
  readonly asksAddresses?: boolean
  /** Consents of this machine; null or absent: no key is sent to an address. */
  readonly consents?: string | null | undefined
  /** Folder of prepared weights; requests are counted beside it. */
  readonly cacheDirectory: string
}

const silentJudge: RewardFunction = {
  id: judgeFunction,
  description: judgeDescription,
  score: eachSample(() => null),
}

export class RunJudges implements AsyncDisposable {
  readonly #place: JudgesPlace
  readonly #judges: Judge[] = []
  readonly #notes: string[] = []
  readonly #spent = new AbortController()
  #log: JudgeLog | null = null

  constructor(place: JudgesPlace) {
    this.#place = place
  }

  /**
   * Opens the judge of an entry of `rewards`. Errors: ConfigError; AppError 'file/…', 'reward/failed' where its budget
   * is spent.
   */
  readonly open: OpenJudge = (name: string, given: GivenJudgeSettings): RewardFunction => {
    const { folder, isReadOnly = false, asksAddresses = true, cacheDirectory, consents = null } = this.#place
    const settings = parseJudge(given, name)
    if (settings.model === '' && !asksAddresses) return silentJudge
    this.#log ??= new JudgeLog(folder, { isReadOnly })
    const judge = new Judge({
      name,
      settings,
      log: this.#log,
      model:
        settings.model === ''
          ? new AddressJudge({
              settings,
              keys: { consents, environment: process.env },
              onRequest: () => countBeside(cacheDirectory, 'judge'),
            })
          : new LocalJudge(settings, cacheDirectory),
      onSpent: (sentence) => {
        this.#notes.push(sentence)
        this.#spent.abort()
      },
    })
    this.#judges.push(judge)
    return judge
  }

  /** Aborts when a budget is spent. */
  get spent(): AbortSignal {
    return this.#spent.signal
  }

  /** Returns the notes for the run's log since the last call. */
  takeNotes(): readonly string[] {
    return this.#notes.splice(0)
  }

  /** Returns the metrics since the last call; empty where nobody judges. */
  takeMetrics(): Metrics {
    if (this.#judges.length === 0) return {}
    const counts = this.#judges.map((judge) => judge.takeCounts())
    const sum = (name: keyof (typeof counts)[number]) => counts.reduce((all, each) => all + each[name], 0)
    const answers = sum('answers')
    const cost = this.#judges.reduce((all, judge) => all + judge.cost, 0)
    return {
      ...(answers === 0
        ? {}
        : {
            'judge/cached_ratio': sum('cached') / answers,
            'judge/unscored_ratio': sum('unscored') / answers,
          }),
      'judge/tokens': sum('tokens'),
      'time/judge': sum('seconds'),
      ...(this.#judges.some((judge) => judge.isPriced) ? { 'judge/cost': cost } : {}),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#judges.map((judge) => judge[Symbol.asyncDispose]()))
    this.#log?.[Symbol.dispose]()
  }
}
