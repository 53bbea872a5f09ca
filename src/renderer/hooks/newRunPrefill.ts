/** Where a run being set up gets its parts from: an address that asks for them, a version of a data set, another run. */
import { useCallback, useEffect, useMemo } from 'react'
import { parsePreparation, type SplitRule } from '../components/data/preparation.ts'
import { detectedPrompt } from '../components/data/promptForms.ts'
import { bestOf } from '../components/models/modelChoice.ts'
import { pruned, type Draft } from '../components/newRun/draft.ts'
import type { SettingField } from '../components/newRun/fields.ts'
import { isObject, valueAt, withValue, withValues, type JsonObject } from '../components/newRun/json.ts'
import { startingFrom } from '../components/newRun/startAdapter.ts'
import { useApi, useLatest, type ApiClient } from './api.tsx'
import { useLastDataSet } from './data.ts'
import { asError } from './failures.ts'
import type { DraftView } from './newRun.ts'
import { navigate, useRoute } from './route.ts'
import { toastError } from './toasts.ts'

/** The validation split where nobody decided otherwise: enough to tell learning from remembering. */
const usualSplit: SplitRule = { share: 0.1, seed: 42 }

/** Where a version's rows lie, and how a person wants them read. */
export async function dataOf(client: ApiClient, versionId: string): Promise<JsonObject> {
  const [{ version, shape }, stored] = await Promise.all([
    client.call('datasets.version', { versionId }),
    client.call('settings.get', { key: `data.preparation.${versionId}` }),
  ])
  const { prompt, maxPromptTokens, heldOut } = parsePreparation(stored)
  const chosen = prompt ?? detectedPrompt(shape.prompt, version.columns)
  return {
    train: version.directory,
    heldOut: heldOut ?? usualSplit,
    ...(chosen === null ? {} : { prompt: chosen }),
    ...(maxPromptTokens === null ? {} : { maxPromptTokens }),
  }
}

/** Takes a version's rows for training. */
export function useChooseData(update: DraftView['update']): (versionId: string) => void {
  const client = useApi()
  const [, setLast] = useLastDataSet()
  return useCallback(
    (versionId: string) => {
      setLast(versionId)
      dataOf(client, versionId).then(
        (data) => update((config) => withData(config, data)),
        (thrown: unknown) => toastError(asError(thrown)),
      )
    },
    [client, update, setLast],
  )
}

/** A validation set of its own stays; a part is drawn from the new ones. */
function withData(config: JsonObject, data: JsonObject): JsonObject {
  const before = valueAt(config, 'data.heldOut')
  const heldOut = typeof before === 'string' ? before : data['heldOut']
  return { ...config, data: { ...data, heldOut } }
}

type Wanted = Readonly<
  Partial<Record<'model' | 'adapter' | 'data' | 'reward' | 'fork' | 'step' | 'copy' | 'changes', string>>
>

/** What the address asks for is put into the draft and taken out of the address. */
export function usePrefill(
  { draft, isLoaded, setDraft, replace }: DraftView,
  fields: readonly SettingField[],
  onDone: (draft: Draft) => void,
): void {
  const client = useApi()
  const { query } = useRoute()
  const text = useMemo(() => query.toString(), [query])
  const latest = useLatest({ draft, setDraft, replace, fields, onDone })
  const isReady = isLoaded && fields.length > 0
  useEffect(() => {
    if (text === '' || !isReady) return
    let isCurrent = true
    const wanted: Wanted = Object.fromEntries(new URLSearchParams(text))
    prefilling(client, { wanted, fields: latest.current.fields }).then(
      (prefill) => {
        if (!isCurrent) return
        const next = prefill(latest.current.draft)
        if (wanted.fork !== undefined) latest.current.replace(next, 'A fork is being set up.')
        else if (wanted.copy !== undefined)
          latest.current.replace(next, 'The settings of the run were copied.')
        else latest.current.setDraft(next)
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

interface Request {
  readonly wanted: Wanted
  readonly fields: readonly SettingField[]
}

/** What is to be done to the draft as it is then: until the host has answered, the person goes on choosing. */
async function prefilling(client: ApiClient, { wanted, fields }: Request): Promise<(draft: Draft) => Draft> {
  const { model, adapter, data, reward, fork, copy, changes } = wanted
  let other: Draft | null = null
  if (copy !== undefined) other = { config: pruned(await configOfRun(client, copy), fields), fork: null }
  if (fork !== undefined) other = await forkOf(client, fork, wanted.step)
  const rows = data === undefined ? null : await rowsAt(client, data)
  const rewards = reward === undefined ? {} : await rewardOf(client, reward)
  return (draft) => {
    const next = other ?? draft
    let { config } = next
    // Another model needs another adapter.
    if (model !== undefined) config = startingFrom({ ...config, model }, undefined)
    if (adapter !== undefined) config = startingFrom(config, adapter)
    if (rows !== null) config = withData(config, rows)
    return { ...next, config: withValues({ ...config, ...rewards }, parsedChanges(changes)) }
  }
}

/** Its name is its own. */
async function configOfRun(client: ApiClient, runId: string): Promise<JsonObject> {
  const { config } = await client.call('runs.get', { runId })
  const json: unknown = JSON.parse(config)
  return isObject(json) ? withValue(json, 'name', undefined) : {}
}

async function forkOf(client: ApiClient, runId: string, step: string | undefined): Promise<Draft> {
  const parent = await configOfRun(client, runId)
  const best = step === undefined ? bestOf(await client.call('checkpoints.list', { runId })) : undefined
  return { config: parent, fork: { runId, step: Number(step ?? best?.step ?? 0), parent } }
}

/** A version, or whatever names rows in a config. */
const rowsAt = (client: ApiClient, data: string): Promise<JsonObject> =>
  /^[0-9a-f]{64}$/.test(data) ? dataOf(client, data) : Promise.resolve({ train: data, heldOut: usualSplit })

/** The newest version of one of the library, or a built-in by its id. */
async function rewardOf(client: ApiClient, reward: string): Promise<JsonObject> {
  if (!reward.startsWith('rw_')) return { rewards: [{ function: reward.replace(/^builtin\./, '') }] }
  const [versions, list] = await Promise.all([
    client.call('rewards.versions', { rewardId: reward }),
    client.call('rewards.list', {}),
  ])
  const file = versions[0]?.file
  if (file === undefined) return {}
  const isWorld = list.find(({ id }) => id === reward)?.kind === 'environment'
  return isWorld ? { environment: { function: file } } : { rewards: [{ function: file }] }
}

function parsedChanges(text: string | undefined): JsonObject {
  if (text === undefined) return {}
  const json: unknown = JSON.parse(text)
  return isObject(json) ? json : {}
}
