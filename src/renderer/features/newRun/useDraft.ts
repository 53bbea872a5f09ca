/** Draft of a run, stored by the host together with replaced drafts. */
import { useCallback, useEffect } from 'react'
import { create } from 'zustand'
import { checkedPart, emptyDraft, isEmptyDraft, type Draft } from './draft.ts'
import { isObject, type JsonObject } from '#shared/config/paths.ts'
import type { StepId } from './problems.ts'
import { kindOf } from './studyDraft.ts'
import { useAnswer, useApi, type Answer, type ApiClient } from '#renderer/client/api.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'
import { useFeed } from '#renderer/client/feeds.ts'

export type Calibration = Extract<Answer<'runs.calibrate'>, { result: unknown }>['result']
export type StudyEstimate = Extract<Answer<'studies.calibrate'>, { result: unknown }>['result']

interface NewRunState {
  readonly draft: Draft
  /** Replaced drafts, latest first. */
  readonly aside: readonly Draft[]
  /** Draft that was last started and is no longer unfinished. */
  readonly started: string | null
  /** True if another window of this host changed it last. */
  readonly isFromElsewhere: boolean
  /** True once read from the host; nothing is saved before. */
  readonly isLoaded: boolean
  readonly openSteps: readonly StepId[]
  /** Last trial and the settings it tested. */
  readonly checked: {
    readonly part: string
    readonly result: Calibration
    /** Estimate of the whole study; null for one run. */
    readonly study: StudyEstimate | null
  } | null
  /** Sections of other kinds of study, restored when the user returns to one. */
  readonly kept: JsonObject
}

export const useNewRunStore = create<NewRunState>(() => ({
  draft: emptyDraft,
  aside: [],
  started: null,
  isFromElsewhere: false,
  isLoaded: false,
  openSteps: ['model'],
  checked: null,
  kept: {},
}))

const keptAt = 'newRun.draft' as const
const asideKeptAt = 'newRun.aside' as const
const maxAside = 5
const keepAfterMs = 400

function parseDraft(stored: unknown): Draft {
  if (!isObject(stored) || !isObject(stored['config'])) return emptyDraft
  const { config, fork } = stored
  if (!isObject(fork) || typeof fork['runId'] !== 'string' || typeof fork['step'] !== 'number')
    return { config, fork: null }
  return {
    config,
    fork: {
      runId: fork['runId'],
      step: fork['step'],
      parent: isObject(fork['parent']) ? fork['parent'] : {},
    },
  }
}

const parseAside = (stored: unknown): readonly Draft[] =>
  (Array.isArray(stored) ? stored : []).map(parseDraft)

let keepTimer: ReturnType<typeof setTimeout> | undefined

/** Values this window saved or received, in order, as text: reports of them from the host are not news. */
const known: Record<typeof keptAt | typeof asideKeptAt, readonly string[]> = {
  [keptAt]: [],
  [asideKeptAt]: [],
}
const maxKnown = 200

function remember(key: keyof typeof known, value: unknown): void {
  known[key] = [...known[key], JSON.stringify(value)].slice(-maxKnown)
}

/** Shows a change at once, and saves it after a pause. */
export function change(client: ApiClient, draft: Draft): void {
  useNewRunStore.setState({ draft, isFromElsewhere: false })
  clearTimeout(keepTimer)
  keepTimer = setTimeout(() => keep(client, draft), keepAfterMs)
}

function keep(client: ApiClient, draft: Draft): void {
  clearTimeout(keepTimer)
  keepTimer = undefined
  const value = isEmptyDraft(draft) ? null : draft
  remember(keptAt, value)
  client.call('settings.set', { key: keptAt, value }).catch((thrown: unknown) => toastError(asError(thrown)))
}

/** Saves at once, so that replaced drafts are not lost with the window. */
function setAside(client: ApiClient, aside: readonly Draft[]): void {
  useNewRunStore.setState({ aside })
  const value = aside.length === 0 ? null : aside
  remember(asideKeptAt, value)
  client
    .call('settings.set', { key: asideKeptAt, value })
    .catch((thrown: unknown) => toastError(asError(thrown)))
}

/** Replaces the draft, keeping an unfinished one aside. */
export function exchange(client: ApiClient, next: Draft): boolean {
  const { draft: before, aside, started } = useNewRunStore.getState()
  const part = checkedPart(before)
  useNewRunStore.setState({ draft: next, isFromElsewhere: false })
  keep(client, next) // at once, like drafts put aside: a reload must not find the old one in both places
  const nextPart = checkedPart(next)
  if (isEmptyDraft(before) || part === nextPart || part === started) return false
  const others = aside.filter((other) => ![part, nextPart].includes(checkedPart(other)))
  setAside(client, [before, ...others].slice(0, maxAside))
  return true
}

/** Keeps the settings of a study, for when its kind is chosen again. */
export function keepingStudy(config: JsonObject): JsonObject {
  const kind = kindOf(config)
  const { kept } = useNewRunStore.getState()
  const keeping = kind === 'run' ? kept : { ...kept, [kind]: config[kind] ?? null }
  useNewRunStore.setState({ kept: keeping })
  return keeping
}

export interface PutAside {
  readonly drafts: readonly Draft[]
  /** Swaps it with the current draft. */
  readonly bringBack: (draft: Draft) => void
  readonly discard: (draft: Draft) => void
}

export function usePutAside(): PutAside {
  const client = useApi()
  const drafts = useNewRunStore((state) => state.aside)
  const discard = useCallback(
    (draft: Draft) => {
      const { aside } = useNewRunStore.getState()
      setAside(
        client,
        aside.filter((other) => other !== draft),
      )
    },
    [client],
  )
  const bringBack = useCallback(
    (draft: Draft) => {
      discard(draft)
      exchange(client, draft)
    },
    [client, discard],
  )
  return { drafts, bringBack, discard }
}

/** Applies other windows' changes to the draft; the newest wins in all of them. Mounted once, near the root. */
export const useDraftNews = (): void =>
  useFeed('settings.watch', undefined, (items) => {
    for (const { changed } of items) {
      if (asideKeptAt in changed && isNews(asideKeptAt, changed[asideKeptAt]))
        useNewRunStore.setState({ aside: parseAside(changed[asideKeptAt]) })
      if (keptAt in changed && isNews(keptAt, changed[keptAt]))
        useNewRunStore.setState({ draft: parseDraft(changed[keptAt]), isFromElsewhere: true })
    }
  })

/** False for values older than unsaved changes made here. */
function isNews(key: keyof typeof known, stored: unknown): boolean {
  if (!useNewRunStore.getState().isLoaded || keepTimer !== undefined) return false
  const text = JSON.stringify(stored)
  const at = known[key].indexOf(text)
  // The host reports changes in order, so an earlier value of ours can only mean that the other window restored it.
  known[key] = at < 0 ? [text] : known[key].slice(at + 1)
  return at < 0
}

/** Loads the saved draft when the wizard is first shown. */
export function useKeptDraft(): boolean {
  const isLoaded = useNewRunStore((state) => state.isLoaded)
  const { data } = useAnswer('settings.all', undefined)
  useEffect(() => {
    if (data === undefined || useNewRunStore.getState().isLoaded) return
    remember(keptAt, data[keptAt] ?? null)
    remember(asideKeptAt, data[asideKeptAt] ?? null)
    useNewRunStore.setState({
      draft: parseDraft(data[keptAt]),
      aside: parseAside(data[asideKeptAt]),
      isLoaded: true,
    })
  }, [data])
  return isLoaded
}
