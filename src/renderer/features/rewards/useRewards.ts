/** Library of rewards, drafts of their code, and data to try them on. */
import { parsedJson } from '#shared/parsedJson.ts'
import { useSettled } from '#renderer/client/settled.ts'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { create } from 'zustand'
import {
  emptyHandSample,
  defaultBench,
  defaultColumn,
  defaultPrompt,
  type Bench,
  type HandSample,
  type PromptForm,
  type ReadyBench,
  type Shown,
} from './bench.ts'
import type {
  Code,
  CodeCheck,
  DataSet,
  DataVersion,
  GalleryEntry,
  RewardKind,
  RewardVersion,
  SettingValues,
  CodeLanguage,
  TestCase,
} from '#renderer/parts/rewardTypes.ts'
import { detectedPrompt } from '#renderer/parts/promptForms.ts'
import type { RowColumn } from '#renderer/editor/types/ambient.ts'
import { useAnswer, useApi, useCommand, type ApiClient } from '#renderer/client/api.tsx'
import { useLastDataSet, usePreparation } from '#renderer/parts/useData.ts'
import { asError, toastError } from '#renderer/client/toasts.ts'
import { useSetting } from '#renderer/client/settings.ts'

const scoring: readonly RewardKind[] = ['reward', 'environment']

export function useRewardLibrary(kinds: readonly RewardKind[] = scoring) {
  const rewards = useAnswer('rewards.list', {})
  const gallery = useAnswer('rewards.gallery', undefined)
  return {
    rewards: (rewards.data ?? []).filter(({ kind }) => kinds.includes(kind)),
    gallery: (gallery.data ?? []).filter(({ kind }) => kinds.includes(kind)),
    isLoaded: rewards.data !== undefined && gallery.data !== undefined,
    error: rewards.error ?? gallery.error,
  }
}

export type RewardLibrary = ReturnType<typeof useRewardLibrary>

/** Code and name of a new entry in the library. */
export interface Beginning extends Code {
  readonly kind: RewardKind
  readonly name: string
  readonly note: string
  readonly tests: readonly TestCase[]
}

/** Null if there is no code to copy. */
export function copyOf(entry: GalleryEntry): Beginning | null {
  const { kind, title, language, code, examples } = entry
  if (code === null || language === null) return null
  return { kind, language, code, name: title, note: `Copy of “${title}”`, tests: examples }
}

/** Creates a reward with its first version and its tests. */
export async function createReward(client: ApiClient, { kind, name, tests, ...first }: Beginning) {
  const { id: rewardId } = await client.call('rewards.create', { kind, name })
  const { file } = await client.call('rewards.save', { rewardId, ...first })
  if (tests.length > 0) await client.call('rewards.setTests', { rewardId, tests })
  return { rewardId, file }
}

/** Drafts of this page, which override stored ones; null: looked up, none exists. */
const useDrafts = create<{ readonly byId: Readonly<Record<string, Draft | null>> }>(() => ({ byId: {} }))

const hostDelayMs = 600
const waiting = new Map<string, ReturnType<typeof setTimeout>>()

function keepDraft(client: ApiClient, rewardId: string, draft: Draft | null): void {
  useDrafts.setState(({ byId }) => ({ byId: { ...byId, [rewardId]: draft } }))
  writeDraft(localStorage, rewardId, draft)
  clearTimeout(waiting.get(rewardId))
  const tell = (): void => {
    waiting.delete(rewardId)
    client
      .call('settings.set', { key: draftSetting(rewardId), value: draft })
      .catch((thrown: unknown) => toastError(asError(thrown)))
  }
  waiting.set(rewardId, setTimeout(tell, draft === null ? 0 : hostDelayMs))
}

export function useDraftIds(): ReadonlySet<string> {
  const { data } = useAnswer('settings.all', undefined)
  const byId = useDrafts((state) => state.byId)
  return useMemo(() => {
    const prefix = draftSetting('')
    const stored = Object.entries(data ?? {}).filter(
      ([key, value]) => key.startsWith(prefix) && parseDraft(value),
    )
    const ids = new Set(stored.map(([key]) => key.slice(prefix.length).replace(/^rw-/, 'rw_')))
    for (const [id, draft] of Object.entries(byId)) {
      if (draft === null) ids.delete(id)
      else ids.add(id)
    }
    return ids
  }, [data, byId])
}

const nothing: Code = { language: 'ts', code: '' }
const noVersions: readonly RewardVersion[] = []

/** Opens a library reward: its draft, else its newest version. */
export function useOpenReward(rewardId: string) {
  const client = useApi()
  const queries = useQueryClient()
  const { data: versions = noVersions, isPending, error } = useAnswer('rewards.versions', { rewardId })
  const { data: settings } = useAnswer('settings.all', undefined)
  const own = useDrafts((state) => state.byId[rewardId])
  const stored = useMemo(() => {
    const atHost = parseDraft(settings?.[draftSetting(rewardId)])
    return laterDraft(readDraft(localStorage, rewardId), atHost)
  }, [settings, rewardId])
  const draft = own === undefined ? stored : own
  const { language: openLanguage, code: openText } = draft ?? versions[0] ?? nothing
  const code = useMemo<Code>(() => ({ language: openLanguage, code: openText }), [openLanguage, openText])
  const saving = useCommand('rewards.save')

  const change = useCallback(
    ({ language, code: text }: Code) => {
      const isNewest = versions[0]?.code === text && versions[0].language === language
      keepDraft(client, rewardId, isNewest ? null : { language, code: text, at: Date.now() })
    },
    [client, rewardId, versions],
  )
  const discard = useCallback(() => keepDraft(client, rewardId, null), [client, rewardId])
  const { run } = saving
  const save = useCallback(
    async (also: { readonly gatesStart?: boolean } = {}) => {
      const { language, code: text } = code
      const saved = await run({ rewardId, language, code: text, ...also })
      if (saved === undefined) return undefined
      await queries.invalidateQueries({ queryKey: ['rewards.versions', { rewardId }] })
      const newest = queries.getQueryData<readonly RewardVersion[]>(['rewards.versions', { rewardId }])?.[0]
      // An older version that was saved again is not the newest: the draft then tells which one is open.
      if (newest?.hash === saved.hash) keepDraft(client, rewardId, null)
      return saved
    },
    [client, code, queries, rewardId, run],
  )
  /** Edits the note of a version; its code stays. */
  const note = useCallback(
    ({ language, code: text }: RewardVersion, words: string) =>
      void run({ rewardId, language, code: text, note: words }),
    [run, rewardId],
  )
  return {
    /** Newest first. */
    versions,
    /** Version in the editor; null if it was changed. */
    version: versionOf(code, versions),
    isLoaded: !isPending && settings !== undefined,
    code,
    error,
    change,
    discard,
    save,
    isSaving: saving.isRunning,
    note,
  }
}

export type OpenReward = ReturnType<typeof useOpenReward>

/** Returns the sandbox's verdict on code once it has settled; the previous one until then. */
export function useCodeCheck(code: Code): CodeCheck | undefined {
  const { language, code: text } = useSettled(code, 800)
  const { data } = useAnswer(
    'rewards.check',
    { code: { language, code: text } },
    { enabled: text.trim() !== '', keep: true },
  )
  return data
}

/** Returns the user's settings, without those that the code no longer has. */
export function useCodeSettings(key: string, check: CodeCheck | undefined) {
  const [stored, setStored] = useSetting<SettingValues>(`rewards.values.${key.replaceAll('_', '-')}`, {})
  const known = check !== undefined && 'settings' in check ? check.settings : null
  const values = useMemo(
    () =>
      Object.fromEntries(
        Object.entries(stored).filter(
          ([name, value]) => known !== null && typeof known[name] === typeof value,
        ),
      ),
    [stored, known],
  )
  return { known: known ?? {}, values, setValues: setStored }
}

interface Written {
  readonly hand: HandSample
  /** Typed completions by row, by version of the data set. */
  readonly typed: Readonly<Record<string, Readonly<Record<number, string>>>>
}

const useWritten = create<Written>(() => ({ hand: emptyHandSample, typed: {} }))

const noneTyped: Readonly<Record<number, string>> = {}

export const useRewardBench = () => useBench('rewards.bench', defaultBench)

/** Data to try code on; one choice per screen, stored by the host under this key. */
export function useBench(key: string, usual: Bench) {
  const [stored, setStored] = useSetting<Partial<Bench>>(key, {})
  const { data: dataSets = noRows } = useAnswer('datasets.list', undefined)
  const wanted = useMemo(() => ({ ...usual, ...stored }), [stored, usual])
  const [lastUsed] = useLastDataSet()
  const version = chosenVersion(dataSets, 'versionId' in stored ? wanted.versionId : (lastUsed ?? undefined))
  const versionId = version?.id ?? null
  const about = useAnswer('datasets.version', { versionId: versionId ?? '' }, { enabled: versionId !== null })
  const shape = about.data?.shape
  const [preparation] = usePreparation(versionId ?? '')
  const saved = JSON.stringify(preparation.prompt)
  const bench = useMemo((): ReadyBench => {
    const columns = version?.columns ?? []
    const names = columns.map(({ name }) => name)
    // The prompt that runs on this version use.
    const ofRuns = (JSON.parse(saved) as PromptForm | null) ?? detectedPrompt(shape?.prompt, columns)
    const column = wanted.column !== null && names.includes(wanted.column) ? wanted.column : null
    return {
      ...wanted,
      versionId,
      column: column ?? defaultColumn(columns, shape?.answer ?? null),
      prompt: wanted.prompt ?? defaultPrompt(columns, ofRuns),
    }
  }, [wanted, version, versionId, shape, saved])
  const { shown, problems, isShownLoaded } = useShownRows(bench, versionId === null || shape !== undefined)
  /** Columns for the editor; null if the rows are unknown. */
  const columns = useMemo(
    () => (version === null ? null : columnsOf(version, shown.rows)),
    [version, shown.rows],
  )
  const change = useCallback(
    (changes: Partial<Bench>) => setStored({ ...stored, ...changes }),
    [setStored, stored],
  )
  const hand = useWritten((state) => state.hand)
  return {
    bench,
    change,
    dataSets,
    version,
    shown,
    problems,
    isShownLoaded,
    columns,
    hand,
    setHand,
    type: useCallback(
      (row: number, completion: string | null) => typeCompletion(versionId, row, completion),
      [versionId],
    ),
  }
}

export type RewardBench = ReturnType<typeof useBench>

const setHand = (hand: HandSample): void => useWritten.setState({ hand })

function typeCompletion(versionId: string | null, row: number, completion: string | null): void {
  if (versionId === null) return
  useWritten.setState(({ typed }) => {
    const { [row]: _, ...others } = typed[versionId] ?? {}
    return {
      typed: { ...typed, [versionId]: completion === null ? others : { ...others, [row]: completion } },
    }
  })
}

/** Returns the chosen version. Undefined: none chosen or used, so the newest of the first data set; null: a hand sample. */
function chosenVersion(dataSets: readonly DataSet[], versionId: string | null | undefined) {
  if (versionId === null) return null
  const usable = dataSets.flatMap(({ versions }) => versions).filter(({ unusable }) => unusable === null)
  const first = dataSets.find(({ versions }) => versions[0]?.unusable === null)
  return usable.find(({ id }) => id === versionId) ?? first?.versions[0] ?? null
}

const noRows: readonly never[] = []

function useShownRows(bench: ReadyBench, isKnown: boolean) {
  const { versionId, from, count, prompt, model } = bench
  const id = versionId ?? ''
  const enabled = versionId !== null && isKnown
  const rows = useAnswer('datasets.rows', { versionId: id, from, count }, { enabled })
  // Previews are limited in page size.
  const preview = useAnswer(
    'datasets.preview',
    { versionId: id, from, count: Math.min(100, count), prompt, ...(model === null ? {} : { model }) },
    { enabled },
  )
  const typed = useWritten((state) => state.typed[id] ?? noneTyped)
  const list = enabled ? (rows.data?.rows ?? noRows) : noRows
  const shown = useMemo<Shown>(() => {
    const byRow = new Map((preview.data ?? []).map((each) => [each.row, each]))
    const prompts = list.map((_, i) => {
      const each = byRow.get(from + i)
      return each !== undefined && 'text' in each ? each.text : null
    })
    return { from, rows: list, prompts, typed }
  }, [list, preview.data, from, typed])
  const problems = useMemo(
    () => (preview.data ?? []).map((each) => ('problem' in each ? each.problem : null)),
    [preview.data],
  )
  return { shown, problems, isShownLoaded: !enabled || rows.data !== undefined }
}

/** Infers the contents of lists and objects from the loaded rows. */
const columnsOf = (version: DataVersion, rows: readonly Readonly<Record<string, unknown>>[]): RowColumn[] =>
  version.columns.map(({ name, kinds, missing }) => ({
    name,
    kinds,
    missing,
    examples: rows.slice(0, 20).flatMap((row) => (name in row ? [row[name]] : [])),
  }))

// Unsaved code. It is kept twice: in the page's own storage at every key press, and at the
// host a moment later, because a page from another port finds an empty storage.

interface Draft {
  readonly language: CodeLanguage
  readonly code: string
  /** Time of the last change, epoch ms: the later of two copies wins. */
  readonly at: number
}

/** Setting that stores a draft at the host; ids have an underscore, names of settings must not. */
export const draftSetting = (rewardId: string): string => `rewards.draft.${rewardId.replaceAll('_', '-')}`

const storageKey = (rewardId: string): string => `turnwise.draft.${rewardId}`

type DraftStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export function readDraft(storage: DraftStorage, rewardId: string): Draft | null {
  const text = storage.getItem(storageKey(rewardId))
  return text === null ? null : parseDraft(parsedJson(text))
}

/** Writes a draft to browser storage, ignoring a full one: the host has the other copy. */
export function writeDraft(storage: DraftStorage, rewardId: string, draft: Draft | null): void {
  try {
    if (draft === null) storage.removeItem(storageKey(rewardId))
    else storage.setItem(storageKey(rewardId), JSON.stringify(draft))
  } catch {
    storage.removeItem(storageKey(rewardId))
  }
}

/** Parses a draft from either storage, in any of its formats. */
export function parseDraft(value: unknown): Draft | null {
  if (typeof value !== 'object' || value === null) return null
  const { language, code, at } = value as Partial<Record<keyof Draft, unknown>>
  if ((language !== 'ts' && language !== 'js') || typeof code !== 'string' || typeof at !== 'number')
    return null
  return { language, code, at }
}

export function laterDraft(one: Draft | null, other: Draft | null): Draft | null {
  if (one === null || other === null) return one ?? other
  return one.at >= other.at ? one : other
}

interface VersionCode {
  readonly language: CodeLanguage
  readonly code: string
}

/** Returns the version with this code, or null. */
export const versionOf = <Version extends VersionCode>(
  { language, code }: VersionCode,
  versions: readonly Version[],
): Version | null => versions.find((each) => each.language === language && each.code === code) ?? null
