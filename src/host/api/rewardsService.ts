/** User-written rewards, environments, losses and workflows: their versions, the built-in ones, and dry runs. */
import path from 'node:path'
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { codeReference } from '#shared/config/codeReference.ts'
import type { Handlers } from '#shared/api/contract.ts'
import type { rewardsApi } from '#shared/api/rewards.ts'
import { judgeDefaults, judgeDescription, judgeFunction } from '#shared/config/judge.ts'
import { AppError, invalidData } from '#shared/errors.ts'
import { builtInRewards } from '#rl/environments/registry.ts'
import { builtInEnvironments, type BuiltInEnvironment } from '#rl/environments/tasks/registry.ts'
import type { Host } from '#host/host.ts'
import { playEpisode } from '#host/code/playEpisode.ts'
import { failureOf, type CodeSource } from '#host/sandbox/sandbox.ts'
import type { RewardRecord } from '#host/store/rewards.ts'
import { changesOf, stampOf } from '#host/store/feeds.ts'
import type { Store } from '#host/store/store.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { runTestCases, testCaseSchema } from '#host/code/testCases.ts'
import { dryRunOf, tryBattery } from '#host/jobs/rewardTrials.ts'
import {
  findReward,
  removeReward,
  sourceOf,
  testCasesOf,
  triedCode,
  withFile,
} from '#host/code/rewardVersions.ts'
import { openCode } from '#host/code/rewardCode.ts'

export const rewardsService = (host: Host): Handlers<typeof rewardsApi> => ({
  ...library(host),
  ...testing(host),
  gallery: () => [...builtIns(), ...codeExamples()],
  play: (request) => play(host, request),
  dryRun: (request, { signal }) => dryRunOf({ host, signal }, request),
  battery: (request, { signal }) => tryBattery({ host, signal }, request),
})

const library = (host: Host) => {
  const { store, notifier } = host
  const item = (reward: RewardRecord) => ({ ...reward, versions: store.rewards.versions(reward.id).length })
  return {
    list: ({ kind }) => store.rewards.list(kind).map(item),

    versions({ rewardId }) {
      findReward(store, rewardId)
      return store.rewards.versions(rewardId).map((version) => withFile(host, version))
    },

    create({ kind, name }) {
      const reward = store.rewards.create(kind, name)
      notifier.notify()
      return item(reward)
    },

    rename({ rewardId, name }) {
      findReward(store, rewardId)
      store.rewards.rename(rewardId, name)
      notifier.notify()
    },

    delete({ rewardId }) {
      removeReward(host, rewardId)
      notifier.notify()
    },

    save({ rewardId, language, code, note, gatesStart }) {
      findReward(store, rewardId)
      const version = store.rewards.addVersion(rewardId, {
        language,
        code,
        ...(note === undefined ? {} : { note }),
        ...(gatesStart === undefined ? {} : { gatesStart }),
      })
      notifier.notify()
      return withFile(host, version)
    },

    usedBy({ rewardId }) {
      findReward(store, rewardId)
      return usersOf(store, rewardId)
    },

    watch: (_input, { from, signal }) =>
      changesOf({ notifier, signal }, from, () => stampOf(store.rewards.list().map(item))),
  } satisfies Partial<Handlers<typeof rewardsApi>>
}

const testing = (host: Host) => {
  const { store, notifier } = host
  return {
    async check({ code }) {
      try {
        const { source, options } = triedCode(host, code)
        await using opened = await openCode(source, options)
        const { kind, functions, settings } = opened
        return { kind, functions, settings }
      } catch (error) {
        if (error instanceof AppError && error.code === 'sandbox/failed') return { problem: failureOf(error) }
        throw error
      }
    },

    tests({ rewardId }) {
      findReward(store, rewardId)
      return testCasesOf(store, rewardId)
    },

    setTests({ rewardId, tests }) {
      findReward(store, rewardId)
      store.rewards.setTestCases(rewardId, tests)
      notifier.notify()
    },

    async runTests({ rewardId, code }) {
      findReward(store, rewardId)
      const [newest] = store.rewards.versions(rewardId)
      const given = code ?? newest
      if (given === undefined) throw invalidData('The reward has no code yet.')
      const results = await runTestCases(sourceOf(store, given), testCasesOf(store, rewardId))
      return results.map(({ name, isPassed, message, row }) => ({
        name,
        passed: isPassed,
        sentence: message,
        score: row,
      }))
    },
  } satisfies Partial<Handlers<typeof rewardsApi>>
}

async function play(host: Host, { code, ...episode }: Parameters<Handlers<typeof rewardsApi>['play']>[0]) {
  const { dataDirectory } = host
  const environment = 'builtIn' in code ? code : triedCode(host, code)
  const place = { cacheDirectory: dataFolders(dataDirectory).cache }
  const { maxTurns, turns } = await playEpisode({ ...episode, environment, place })
  return { maxTurns, turns: turns.map((turn) => ({ ...turn, lines: [...turn.lines] })) }
}

const judge = { id: judgeFunction, description: judgeDescription, settings: judgeDefaults }

const builtIns = () => [
  ...[...builtInRewards, judge].map((reward) => builtIn('reward', reward)),
  ...builtInEnvironments.map((environment) => builtIn('environment', environment)),
]

const builtIn = (
  kind: 'reward' | 'environment',
  { id, description, settings }: Pick<BuiltInEnvironment, 'id' | 'description' | 'settings'>,
) => ({ id, kind, title: id, description, language: null, code: null, settings, examples: [] })

const codeExamples = () =>
  [...readGallery(), ...readExamples('losses', 'loss'), ...readExamples('workflows', 'workflow')].map(
    ({ id, kind, title, description, source, examples }) => ({
      id,
      kind,
      title,
      description,
      language: source.language,
      code: source.code,
      settings: null,
      examples,
    }),
  )

/* Which runs were trained with which version, told by the code that their configs name. */

const named = z.object({ function: z.string() })
const stage = z.object({
  algorithm: z.object({ id: z.string().default('') }).optional(),
  rollout: z.object({ workflow: named.nullish() }).optional(),
})
const configSchema = stage.extend({
  rewards: z.array(named).default([]),
  environment: named.nullish(),
  stages: z.array(stage).default([]),
})

function usersOf(store: Store, rewardId: string): { runId: string; version: string }[] {
  const versions = new Set(store.rewards.versions(rewardId).map(({ hash }) => hash))
  return store.runs.list().flatMap(({ id: runId }) => {
    const used = versionsIn(store.runs.get(runId).config, rewardId)
    return [...used].filter((version) => versions.has(version)).map((version) => ({ runId, version }))
  })
}

/** Files are `<reward>/<version>.ts`. */
function versionsIn(config: string, rewardId: string): Set<string> {
  // Most runs use built-ins: they need not be parsed.
  if (!config.includes(rewardId)) return new Set()
  const parsed = configSchema.safeParse(JSON.parse(config))
  if (parsed.data === undefined) return new Set()
  const { rewards, environment, stages, ...whole } = parsed.data
  const functions = [...rewards, ...(environment ? [environment] : [])].map((each) => each.function)
  const ofStages = [whole, ...stages].flatMap(({ algorithm, rollout }) => [
    algorithm?.id ?? [],
    rollout?.workflow?.function ?? [],
  ])
  const files = [...functions, ...ofStages.flat()].flatMap((id) => codeReference(id)?.file ?? [])
  const own = files.filter((file) => path.basename(path.dirname(file)) === rewardId)
  return new Set(own.map((file) => path.parse(file).name))
}

/* Ready-made rewards to start from: code to copy and change, each with examples of what it pays for and what not. */

const manifestSchema = z.strictObject({
  rewards: z.array(
    z.strictObject({
      id: z.string(),
      title: z.string(),
      description: z.string(),
      kind: z.enum(['reward', 'environment']),
      file: z.string(),
      examples: z.array(testCaseSchema),
    }),
  ),
})

/** Entry with the absolute path of its file. */
type GalleryEntry = z.output<typeof manifestSchema>['rewards'][number] & { readonly source: CodeSource }

export function readGallery(): GalleryEntry[] {
  const { rewards } = manifestSchema.parse(readManifest('rewards'))
  return rewards.map((entry) => ({ ...entry, ...codeIn('rewards', entry.file) }))
}

const exampleSchema = z.strictObject({
  id: z.string(),
  title: z.string(),
  description: z.string(),
  file: z.string(),
})

/** Reads the examples: built-in algorithms as people write losses, and ways to play as they write workflows. */
export const readExamples = <Kind extends 'loss' | 'workflow'>(folder: 'losses' | 'workflows', kind: Kind) =>
  z
    .array(exampleSchema)
    .parse(readManifest(folder)[folder])
    .map((entry) => ({ ...entry, ...codeIn(folder, entry.file), kind, examples: [] }))

const readManifest = (folder: string) =>
  readJsonObject(path.join(resourcesDirectory, folder, 'manifest.json'), 'config/invalid')

function codeIn(folder: string, name: string): Pick<GalleryEntry, 'file' | 'source'> {
  const file = path.join(resourcesDirectory, folder, name)
  return { file, source: { code: readFileSync(file, 'utf8'), language: 'ts' } }
}
