/** What the files of a project are made of. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { stringify } from 'yaml'
import type { RunConfig } from '#shared/runConfig.ts'
import type { RewardSpec } from '#rl/rewards.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import type { ExportedConfig } from '../exportConfig.ts'
import type { ProjectData } from './projectData.ts'

/** A file's path in the project and its text. */
export type ProjectFiles = Readonly<Record<string, string>>

/** What the tool's files are made of. */
export interface ProjectParts {
  readonly run: RunConfig
  readonly data: ProjectData
  readonly exported: ExportedConfig
  /** Names and weights, in the order of the run. */
  readonly rewards: readonly Pick<RewardSpec, 'name' | 'weight'>[]
  readonly hasAdapter: boolean
}

/** A file that comes with the program. */
export const projectResource = (name: string): string =>
  readFileSync(path.join(resourcesDirectory, 'projects', ...name.split('/')), 'utf8')

/**
 * A document that readers of YAML 1.1, such as Python's, understand as we do: "no" stays a text, and 1e-8 a number, which
 * they only see with a point in it.
 */
export const yamlText = (value: unknown): string =>
  stringify(value, { version: '1.1', schema: 'yaml-1.1', lineWidth: 0 }).replaceAll(
    /^(.*[:-] -?\d+)(e[+-]\d+)$/gm,
    '$1.0$2',
  )
