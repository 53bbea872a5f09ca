/** The demo run: the starter model on its own data, offline, in about a minute. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { RunConfig } from '#shared/runConfig.ts'
import { algorithms, algorithmTitle } from '#rl/algorithms/registry.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { readRunConfig } from './runConfigFile.ts'

/** Answers to imitate and preferences have data and settings of their own; all other algorithms share one file. */
export function readDemoConfig(dataDirectory: string, algorithm = 'run'): RunConfig {
  const fileOf = (name: string) => path.join(resourcesDirectory, 'demo', `${name}.json`)
  const experience = algorithms.find(({ id }) => id === algorithm)?.experience
  const own = fileOf(experience === 'preferences' || experience === 'marks' ? 'dpo' : algorithm)
  return readRunConfig(existsSync(own) ? own : fileOf('run'), dataDirectory)
}

/** Names algorithms that learn one after the other: “SFT, then DPO”. */
export const trainingWords = (ids: readonly string[]): string => ids.map(algorithmTitle).join(', then ')
