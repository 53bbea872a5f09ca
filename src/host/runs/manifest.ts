/** Digests of everything that determines a run, to compare runs and to detect changes on resume. */
import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { codeReference } from '#shared/config/codeReference.ts'
import type { RunManifest } from '#shared/events.ts'
import { corpusOf } from '#host/code/resolveEnvironment.ts'
import { rewardName, stagesOf, type RunConfig } from '#shared/runConfig.ts'
import { hashFiles } from '#host/files/contentHash.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { versionFiles } from '#host/data/dataSetVersion.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import {
  runAlgorithmCode,
  runEnvironmentCode,
  runRewardCode,
  runWorkflowCode,
} from '#host/code/rewardCode.ts'
import { describeVersions } from '#host/dataDirectory.ts'

const schema = z.object({
  app: z.string(),
  config: z.string(),
  model: z.string(),
  data: z.record(z.string(), z.string()),
  rewards: z.record(z.string(), z.string()),
})

export interface ManifestSubject {
  readonly config: RunConfig
  readonly model: ModelFolder
  readonly runDirectory: string
  /** Remembers the digests of large files. */
  readonly cacheDirectory: string
}

/** Errors: AppError 'file/unreadable'. */
export async function computeManifest(subject: ManifestSubject): Promise<RunManifest> {
  const { config, model, runDirectory, cacheDirectory } = subject
  const digestsOf = (files: readonly string[]) => hashFiles(files, cacheDirectory)
  const data = dataFiles(config)
  const dataDigests = await digestsOf(data.map(({ file }) => file))
  return {
    app: describeVersions(),
    config: sha256(readSmallFile(runPaths(runDirectory).config)),
    model: await modelDigest(model, cacheDirectory),
    data: Object.fromEntries(data.map(({ name }, i) => [name, dataDigests[i] ?? ''])),
    rewards: {
      ...judgeDigests(config, runDirectory),
      ...lossDigests(config, runDirectory),
      ...workflowDigests(config, runDirectory),
    },
  }
}

/** SHA-256 in hex over names and digests of everything of the folder that a run reads. Errors: AppError 'file/unreadable'. */
export async function modelDigest(
  model: ModelFolder,
  cacheDirectory: string,
  signal?: AbortSignal,
): Promise<string> {
  const files = modelFiles(model)
  const digests = await hashFiles(files, cacheDirectory, signal && { signal })
  return sha256(files.map((file, i) => `${path.basename(file)} ${digests[i] ?? ''}\n`).join(''))
}

const sha256 = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')

/** Lists the files of the model folder that a run reads. */
function modelFiles(model: ModelFolder): string[] {
  const texts = [
    model.configFile,
    model.tokenizerFile,
    model.tokenizerConfigFile,
    model.chatTemplateFile,
  ].filter((file) => file !== null)
  return [...new Set([...texts, ...model.weightFiles])]
}

/** The config's data paths, documents to search in included, each with the file that holds the rows. */
function dataFiles(config: RunConfig): { readonly name: string; readonly file: string }[] {
  const given = stagesOf(config)
    .flatMap(({ data }) => [data.train, data.heldOut])
    .concat(corpusOf(config.environment))
    .filter((entry) => typeof entry === 'string')
  return [...new Set(given)].map((name) => {
    const isVersion = existsSync(name) && statSync(name).isDirectory()
    return { name, file: isVersion ? path.join(name, versionFiles.rows) : name }
  })
}

/** Digests of rewards and environment, with the code in the run's folder, by name. Errors: AppError 'file/…'. */
export const judgeDigests = (config: RunConfig, runDirectory: string): Record<string, string> => ({
  ...rewardDigests(config, runDirectory),
  ...environmentDigest(config, runDirectory),
})

const rewardDigests = (config: RunConfig, runDirectory: string): Record<string, string> =>
  Object.fromEntries(
    config.rewards.map((entry, i) => {
      const code = runRewardCode(config, i, runDirectory)?.code ?? entry.function
      return [rewardName(entry), rewardDigest(code, entry)]
    }),
  )

/** Losses that people wrote, by the path the config names. */
const lossDigests = (config: RunConfig, runDirectory: string): Record<string, string> =>
  Object.fromEntries(
    stagesOf(config)
      .map(({ algorithm }) => algorithm)
      .filter(({ id }) => codeReference(id) !== null)
      .map(({ id, settings }) => [id, codeDigest(runAlgorithmCode(id, runDirectory).code, settings)]),
  )

/** Digest of the environment, under the name of its reward on charts. */
function environmentDigest({ environment }: RunConfig, runDirectory: string): Record<string, string> {
  if (environment === null) return {}
  const code = runEnvironmentCode(environment, runDirectory)?.code ?? environment.function
  return { environment: rewardDigest(code, environment) }
}

/** Digests of workflows, each under a name of its own; a later stage may have another one. */
export const workflowDigests = (config: RunConfig, runDirectory: string): Record<string, string> =>
  Object.fromEntries(
    stagesOf(config).flatMap(({ rollout: { workflow } }, stage) =>
      workflow === null
        ? []
        : [
            [
              stage === 0 ? 'workflow' : `workflow ${stage + 1}`,
              rewardDigest(runWorkflowCode(workflow, runDirectory, stage).code, workflow),
            ],
          ],
    ),
  )

/** Digest of the text of user code, or of the id of a built-in; settings count in both. */
const rewardDigest = (code: string, { settings }: Pick<RunConfig['rewards'][number], 'settings'>): string =>
  codeDigest(code, settings)

const codeDigest = (code: string, settings: Readonly<Record<string, unknown>>): string =>
  sha256(JSON.stringify([code, Object.entries(settings).sort()]))

/** A manifest from a log; null where it is not one that this version can read. */
export const readManifest = (value: unknown): RunManifest | null => schema.safeParse(value).data ?? null

/** Describes what differs from when the run began, in sentences. */
export function manifestDifferences(before: RunManifest | null, now: RunManifest): string[] {
  if (before === null) return []
  const changed = (what: string) => `${what} changed since this run began: the result will differ.`
  const differs = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>) =>
    Object.keys(b).filter((name) => a[name] !== undefined && a[name] !== b[name])
  return [
    ...(before.app === now.app ? [] : [changed(`The program (${before.app}; now ${now.app})`)]),
    ...(before.config === now.config ? [] : [changed('The config')]),
    ...(before.model === now.model ? [] : [changed('The model')]),
    ...differs(before.data, now.data).map((name) => changed(`The data ${name}`)),
    ...differs(before.rewards, now.rewards).map((name) => changed(`The reward “${name}”`)),
  ]
}
