/** Fills a draft from an address, a version of a data set, or another run. */
import { useCallback, useEffect, useMemo } from 'react'
import { parsePreparation, defaultSplit, splitFor } from '#renderer/parts/preparation.ts'
import { detectedPrompt } from '#renderer/parts/promptForms.ts'
import { bestOf } from '#renderer/client/modelChoice.ts'
import { withMethodFor, withModel, withRoom, modelFactsOf, withData, startingFrom } from './chosenRows.ts'
import { emptyDraft, pruned, type Draft } from './draft.ts'
import { draftKinds, withKind } from './studyDraft.ts'
import { keepingStudy } from './useDraft.ts'
import { isObject, valueAt, withValue, withValues, type JsonObject } from '#shared/config/paths.ts'
import { settingsAfter } from '#shared/config/changes.ts'
import { useApi, useLatest, type ApiClient } from '#renderer/client/api.tsx'
import { useLastDataSet } from '#renderer/parts/useData.ts'
import { asError, toastError } from '#renderer/client/toasts.ts'
import type { DraftView, Knowledge } from './useNewRun.ts'
import { navigate, useRoute } from '#renderer/client/route.ts'

interface Rows {
  readonly data: JsonObject
  readonly shapeId: string
}

/** Returns the rows of a version, and the stored choices for reading them. */
export async function dataOf(client: ApiClient, versionId: string): Promise<Rows> {
  const [{ version, shape }, stored] = await Promise.all([
    client.call('datasets.version', { versionId }),
    client.call('settings.get', { key: `data.preparation.${versionId}` }),
  ])
  const { prompt, maxPromptTokens, heldOut } = parsePreparation(stored)
  const chosen = prompt ?? detectedPrompt(shape.prompt, version.columns)
  const data = {
    train: version.directory,
    heldOut: heldOut ?? splitFor(version.rows),
    ...(chosen === null ? {} : { prompt: chosen }),
    ...(maxPromptTokens === null ? {} : { maxPromptTokens }),
  }
  return { data, shapeId: shape.id }
}

export function useChooseData(update: DraftView['update']): (versionId: string) => void {
  const client = useApi()
  const [, setLast] = useLastDataSet()
  return useCallback(
    (versionId: string) => {
      setLast(versionId)
      Promise.all([
        dataOf(client, versionId),
        client.call('datasets.list'),
        client.call('models.list'),
        client.call('settings.algorithms'),
      ]).then(
        ([{ data, shapeId }, dataSets, models, algorithms]) =>
          update((config) =>
            withMethodFor(withData(config, data, dataSets), shapeId, { models, algorithms }),
          ),
        (thrown: unknown) => toastError(asError(thrown)),
      )
    },
    [client, update, setLast],
  )
}

type Wanted = Readonly<
  Partial<
    Record<
      'model' | 'adapter' | 'data' | 'reward' | 'fork' | 'step' | 'copy' | 'study' | 'kind' | 'changes',
      string
    >
  >
>

/** Moves the requests of an address into the draft. */
export function usePrefill(
  { draft, isLoaded, setDraft, replace }: DraftView,
  known: Knowledge,
  onDone: (draft: Draft) => void,
): void {
  const client = useApi()
  const { query } = useRoute()
  const text = useMemo(() => query.toString(), [query])
  const latest = useLatest({ draft, setDraft, replace, known, onDone })
  const isReady = isLoaded && known.isLoaded
  useEffect(() => {
    if (text === '' || !isReady) return
    let isCurrent = true
    const wanted: Wanted = Object.fromEntries(new URLSearchParams(text))
    prefilling(client, wanted, latest.current.known).then(
      (prefill) => {
        if (!isCurrent) return
        const before = latest.current.draft
        const next = prefill(before)
        const words = replacedWords(wanted, before)
        if (words === null) latest.current.setDraft(next)
        else latest.current.replace(next, words)
        latest.current.onDone(next)
        navigate('/new-run', {}, { replace: true })
      },
      (thrown: unknown) => {
        if (!isCurrent) return
        toastError(asError(thrown))
        navigate('/new-run', {}, { replace: true })
      },
    )
    return () => {
      isCurrent = false
    }
  }, [client, text, isReady, latest])
}

/** Describes the earlier choice that is replaced; null if something is only added. */
function replacedWords(
  { fork, copy, study, kind, data, model, adapter, reward }: Wanted,
  { config, fork: before }: Draft,
): string | null {
  if (fork !== undefined) return 'A fork is being set up.'
  if (copy !== undefined) return 'The settings of the run were copied.'
  if (study !== undefined) return 'The settings of the study were copied.'
  if (kind !== undefined && before !== null) return 'Something other than the fork is being set up.'
  if (data !== undefined && hasData(config)) return 'A run on these rows is being set up.'
  const isModelNew = (model ?? adapter) !== undefined && config['model'] !== undefined
  if (isModelNew) return 'A run on this model is being set up.'
  const isRewardNew = reward !== undefined && (config['rewards'] ?? config['environment']) !== undefined
  return isRewardNew ? 'A run with this reward is being set up.' : null
}

const hasData = (config: JsonObject): boolean => valueAt(config, 'data.train') !== undefined

/** Returns a change to the draft rather than a draft, since the user may continue editing until the host has answered. */
async function prefilling(
  client: ApiClient,
  wanted: Wanted,
  known: Knowledge,
): Promise<(draft: Draft) => Draft> {
  const { model, adapter, data, reward, fork, copy, study, changes } = wanted
  const kind = draftKinds.find((each) => each === wanted.kind)
  let other: Draft | null = null
  if (copy !== undefined)
    other = { config: pruned(await configOfRun(client, copy, Infinity), known.fields), fork: null }
  if (study !== undefined)
    other = { config: pruned(await fileOfStudy(client, study), known.fields), fork: null }
  if (fork !== undefined) other = await forkOf(client, fork, wanted.step)
  const rows = data === undefined ? null : await rowsAt(client, data)
  const dataSets = await client.call('datasets.list')
  const { algorithms } = known
  const models = await client.call('models.list')
  const rewards = reward === undefined ? {} : await rewardOf(client, reward)
  return (draft) => {
    // A fork is always one run.
    const next = other ?? (kind !== undefined && draft.fork !== null ? emptyDraft : draft)
    let { config } = next
    if (kind !== undefined) config = withKind(config, kind, keepingStudy(config))
    if (model !== undefined) config = withModel(config, model, { models, algorithms })
    if (adapter !== undefined) config = startingFrom(config, adapter)
    // Rewards and settings chosen for other rows are not applied to these.
    if (rows !== null && other === null && isOtherData(config, rows.data))
      config = withRoom(pick(config, ['model', 'adapter']), modelFactsOf(config, models))
    if (rows !== null)
      config = withMethodFor(withData(config, rows.data, dataSets), rows.shapeId, { models, algorithms })
    return { ...next, config: withValues(config, { ...rewards, ...parsedChanges(changes) }) }
  }
}

const isOtherData = (config: JsonObject, rows: JsonObject): boolean =>
  hasData(config) && valueAt(config, 'data.train') !== rows['train']

const pick = (config: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(config).filter(([key]) => keys.includes(key)))

/** Returns a run's config including changes up to a step, without the name. */
async function configOfRun(client: ApiClient, runId: string, step: number): Promise<JsonObject> {
  const { config, settingChanges } = await client.call('runs.get', { runId })
  const json: unknown = JSON.parse(config)
  return isObject(json) ? withValue(settingsAfter(json, settingChanges, step), 'name', undefined) : {}
}

/** Returns a study's original config, without the name. */
async function fileOfStudy(client: ApiClient, id: string): Promise<JsonObject> {
  const { file } = await client.call('studies.get', { id })
  return withValue(file, 'name', undefined)
}

async function forkOf(client: ApiClient, runId: string, step: string | undefined): Promise<Draft> {
  const best = step === undefined ? bestOf(await client.call('checkpoints.list', { runId })) : undefined
  const from = Number(step ?? best?.step ?? 0)
  const parent = await configOfRun(client, runId, from)
  return { config: parent, fork: { runId, step: from, parent } }
}

/** Resolves a version, or anything that names rows in a config. */
const rowsAt = (client: ApiClient, data: string): Promise<Rows> =>
  /^[0-9a-f]{64}$/.test(data)
    ? dataOf(client, data)
    : Promise.resolve({ data: { train: data, heldOut: defaultSplit }, shapeId: 'unknown' })

/** Returns the newest version of a library reward, or a built-in by its id; by dotted key. */
async function rewardOf(client: ApiClient, reward: string): Promise<JsonObject> {
  if (!reward.startsWith('rw_')) return { rewards: [{ function: reward.replace(/^builtin\./, '') }] }
  const [versions, list] = await Promise.all([
    client.call('rewards.versions', { rewardId: reward }),
    client.call('rewards.list', {}),
  ])
  const file = versions[0]?.file
  if (file === undefined) return {}
  const kind = list.find(({ id }) => id === reward)?.kind
  if (kind === 'loss') return { algorithm: { id: file } }
  if (kind === 'workflow') return { 'rollout.workflow': { function: file } }
  return kind === 'environment' ? { environment: { function: file } } : { rewards: [{ function: file }] }
}

function parsedChanges(text: string | undefined): JsonObject {
  if (text === undefined) return {}
  const json: unknown = JSON.parse(text)
  return isObject(json) ? json : {}
}
