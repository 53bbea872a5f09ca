/** The demo run: the starter model on its own data, offline, in about a minute. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { RunConfig } from '#shared/runConfig.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { readRunConfig } from './runConfigFile.ts'

/** Algorithms that learn from given answers have data and settings of their own; all others share one file. */
export function readDemoConfig(dataDirectory: string, algorithm = 'run'): RunConfig {
  const fileOf = (name: string) => path.join(resourcesDirectory, 'demo', `${name}.json`)
  const own = fileOf(algorithm)
  return readRunConfig(existsSync(own) ? own : fileOf('run'), dataDirectory)
}
