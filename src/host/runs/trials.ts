/** Time estimates from config checks, kept until the program exits: a run's first estimate of its duration. */
import { hash } from 'node:crypto'
import type { RunConfig } from '#shared/runConfig.ts'
import type { TrainingRequest } from './trainingJob.ts'

type Expected = NonNullable<TrainingRequest['expected']>

const kept = 100

export class Trials {
  readonly #byConfig = new Map<string, Expected>()

  /** `expected`: stage by stage. */
  remember(config: RunConfig, expected: Expected): void {
    const key = keyOf(config)
    this.#byConfig.delete(key)
    this.#byConfig.set(key, expected)
    const [oldest] = this.#byConfig.keys()
    if (this.#byConfig.size > kept && oldest !== undefined) this.#byConfig.delete(oldest)
  }

  /**
   * Returns what the trial of these settings expected, by the text of a run's config; null where they were not tried.
   */
  of(configText: string): Expected | null {
    return this.#byConfig.get(keyOf(JSON.parse(configText) as RunConfig)) ?? null
  }
}

/** The name says nothing of the time it takes. */
const keyOf = ({ name: _, ...settings }: RunConfig): string => hash('sha1', JSON.stringify(settings))
