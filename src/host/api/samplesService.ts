/** Stored trajectories, token by token, and their scores under other versions of a reward. */
import { judgeFunction } from '#shared/config/judge.ts'
import { meanOf } from '#shared/mean.ts'
import type { Api } from '#shared/api/api.ts'
import type { Handlers, OutputOf } from '#shared/api/contract.ts'
import type { samplesApi } from '#shared/api/samples.ts'
import { invalidData } from '#shared/errors.ts'
import { packArray } from '#shared/packedArray.ts'
import type { Reward } from '#rl/rollout/trajectory.ts'
import { promptContent } from '#rl/rollout/prompts.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { Host } from '#host/host.ts'
import type { SampleRecord, SampleScore } from '#host/store/samples.ts'
import type { DataStorage } from '#host/store/storage.ts'
import type { Store } from '#host/store/store.ts'
import { scoreLimit } from '#host/processes/limits.ts'
import { scoredWithin } from '#host/jobs/textScoring.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { configOf, rowPlaces, rowsOfRun, versionOf } from '#host/runs/runRows.ts'
import { tellingPrompts } from '#host/runs/tellingPrompts.ts'
import { scoreRewards } from '#rl/rollout/trajectoryRewards.ts'
import { openSandbox, type CodeSource } from '#host/sandbox/sandbox.ts'
import { chosenFunctions, sandboxedReward } from '#host/sandbox/scoringCode.ts'
import type { DryRunOptions } from '#host/code/dryRun.ts'

export const samplesService = (host: Host): Handlers<typeof samplesApi> => {
  const { store } = host
  const placesOf = rowPlaces(host)
  const placed = async (sample: SampleRecord) => {
    const { placeOf } = await placesOf(store.runs.get(sample.runId))
    return { ...sample, dataRow: placeOf(sample) }
  }
  return {
    steps: ({ runId, source }) =>
      store.samples
        .steps(runId)
        .filter((each) => source === undefined || each.source === source)
        .map(({ count, ...each }) => ({ ...each, samples: count })),
    async list({ dataRow, ...filter }) {
      if (dataRow === undefined) return Promise.all(store.samples.list(filter).map(placed))
      const { rowsAt } = await placesOf(store.runs.get(filter.runId))
      const at = rowsAt(dataRow)
      const source = filter.source ?? (at.rollout === null ? 'evaluation' : 'rollout')
      const row = at[source]
      return row === null ? [] : Promise.all(store.samples.list({ ...filter, source, row }).map(placed))
    },
    get: ({ sampleId }) => placed(findSample(store, sampleId)),
    arrays: ({ sampleId }) => arraysOf(host, sampleId),

    async origin({ sampleId }) {
      const sample = findSample(store, sampleId)
      const { row, content } = await originOf(host, sample)
      return {
        row,
        messages: typeof content === 'string' ? null : content,
        versionId: versionOf(host, store.runs.get(sample.runId), sample),
      }
    },

    telling: ({ runId }) => tellingPrompts(host, runId),

    scores: ({ runId, version }) => store.samples.scoresOf(runId, version),
    rescore: (request, { signal }) => rescoring(host, request, signal),
    scoreText: ({ sampleId, completion }, { signal }) =>
      scoreText(host, findSample(store, sampleId), { completion, signal }),
  }
}

/** The row of a sample, and its prompt as text or messages. Errors: AppError 'data/invalid', 'file/unreadable'. */
export async function originOf(host: DataStorage, sample: SampleRecord) {
  const run = host.store.runs.get(sample.runId)
  const row = (await rowsOfRun(host, run))(sample)
  return { row, content: promptContent(row, sample.row, configOf(run).data.prompt) }
}

/** Errors: AppError 'data/invalid' where it was forgotten. */
export function findSample(store: Store, sampleId: number): SampleRecord {
  const sample = store.samples.find(sampleId)
  if (sample !== null) return sample
  throw invalidData('This sample does not exist.', 'Its step may have been trained again since.')
}

async function arraysOf(
  { store, askText }: Host,
  sampleId: number,
): Promise<OutputOf<Api, 'samples.arrays'>> {
  const { runId } = findSample(store, sampleId)
  const arrays = store.samples.arrays(sampleId)
  if (arrays === null) throw invalidData('No token arrays were kept of this sample.')
  const directory = store.runs.get(runId).model
  const packed = (values: Float32Array | null) => (values === null ? null : packArray(values))
  return {
    ids: packArray(arrays.ids),
    texts: await askText({ type: 'token-texts', directory, ids: arrays.ids }),
    actionMask: packArray(arrays.actionMask),
    logprobs: packed(arrays.logprobs),
    behaviorLogprobs: packed(arrays.behaviorLogprobs),
    referenceLogprobs: packed(arrays.referenceLogprobs),
    entropies: packed(arrays.entropies),
    advantages: packed(arrays.advantages),
    rewards: packed(arrays.rewards),
  }
}

/** Number of samples scored by one sandbox. */
const scoredAtOnce = 128

async function* rescoring(
  host: Host,
  { runId, version, fromStep, toStep }: Parameters<Handlers<typeof samplesApi>['rescore']>[0],
  signal: AbortSignal,
): AsyncGenerator<OutputOf<Api, 'samples.rescore'>> {
  const { store } = host
  const source = store.rewards.findVersion(version)
  if (source === null) throw invalidData('This version of a reward does not exist.')
  const known = new Set(store.samples.scoresOf(runId, version).map(({ sampleId }) => sampleId))
  const all = store.samples.list({ runId, fromStep, toStep })
  const samples = all.filter(({ id }) => !known.has(id))
  const rowOf = await rowsOfRun(host, store.runs.get(runId))
  for (let from = 0; from < samples.length && !signal.aborted; from += scoredAtOnce) {
    const batch = samples.slice(from, from + scoredAtOnce)
    const { rewards } = await rescore(
      source,
      batch.map((sample) => ({ ...sample, row: rowOf(sample) })),
    )
    const scores = batch.map(({ id }, at): SampleScore => {
      const { parts = {}, failures = [] } = rewards[at] ?? {}
      return { sampleId: id, version, parts, error: failures[0]?.message ?? null }
    })
    store.samples.addScores(scores)
    const done = all.length - samples.length + from + batch.length
    yield { progress: { phase: 'Scoring', done, total: all.length, unit: 'samples' }, scores }
  }
}

async function scoreText(
  host: Host,
  sample: SampleRecord,
  { completion, signal }: { readonly completion: string; readonly signal: AbortSignal },
): Promise<OutputOf<Api, 'samples.scoreText'>> {
  const run = host.store.runs.get(sample.runId)
  const row = (await rowsOfRun(host, run))(sample)
  const { prompt, step } = sample
  const { rewards, rewardLimits, python, data } = configOf(run)
  const scoring = {
    config: { rewards, rewardLimits, python, data },
    runDirectory: run.directory,
    cacheDirectory: dataFolders(host.dataDirectory).cache,
    consents: consentsFile(host.dataDirectory),
    input: { prompt, completion, row, step },
  }
  const isJudged = rewards.some(({ function: id }) => id === judgeFunction)
  const reward = await scoredWithin(scoreLimit(isJudged), host.ask, scoring, signal)
  const failures = reward.failures.map(({ name, message }) => ({
    code: 'reward/failed' as const,
    hint: null,
    message: `${name}: ${message}`,
  }))
  return { reward: reward.total, parts: reward.parts, failures }
}

// Stored samples under another version of the reward code: what the change would have paid.

interface StoredSample {
  readonly prompt: string
  readonly completion: string
  /** Columns of the data set row it came from. */
  readonly row: Readonly<Record<string, unknown>>
  readonly step: number
  /** Score from this reward alone when the sample was generated. */
  readonly reward: number | null
}

interface Rescore {
  /** Rewards in the order of the samples. */
  readonly rewards: readonly Reward[]
  /** Samples that now earn something else, or nothing. */
  readonly changed: number
  readonly failed: number
  /** Mean over samples that had and have a reward; null without any. */
  readonly meanBefore: number | null
  readonly meanAfter: number | null
}

/** Errors as dryRun. */
export async function rescore(
  source: CodeSource,
  samples: readonly StoredSample[],
  options: DryRunOptions = {},
): Promise<Rescore> {
  await using sandbox = await openSandbox(source, options.limits)
  const specs = chosenFunctions(sandbox, options.function ?? null).map((name) => ({
    function: sandboxedReward(sandbox, name, options.settings ?? {}),
    weight: 1,
    name,
  }))
  const rewards = await scoreRewards(specs, samples, 'null')
  const pairs = samples.map(({ reward }, i) => ({ before: reward, after: rewards[i]?.total ?? null }))
  const both = pairs.filter(({ before, after }) => before !== null && after !== null)
  return {
    rewards,
    changed: pairs.filter(({ before, after }) => !isSame(before, after)).length,
    failed: rewards.filter(({ failures }) => failures.length > 0).length,
    meanBefore: meanOf(both.map(({ before }) => before ?? 0)),
    meanAfter: meanOf(both.map(({ after }) => after ?? 0)),
  }
}

const isSame = (a: number | null, b: number | null): boolean =>
  a === b || (a !== null && b !== null && Math.abs(a - b) < 1e-12)
