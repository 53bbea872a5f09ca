/**
 * Requests to the host. Reading guide of this folder: `api.tsx` (here) queries, commands and tasks; `connection.ts` the
 * line to the host, opened again when it is lost; `feeds.ts` and `live.ts` live updates; `runs.ts` the list of runs, shared
 * by all; `route.ts` the current location; `keys.ts` shortcuts; `settings.ts` remembered settings; `toasts.ts` short
 * notices; `tasks.ts` long work and its progress.
 */
import { keepPreviousData, useMutation, useQueries, useQuery, type QueryClient } from '@tanstack/react-query'
import { createContext, use, useCallback, useEffect, useRef, useState, type ReactNode } from 'react'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import type { CallName, InputOf, OutputOf, StreamName } from '#shared/api/contract.ts'
import { askWhereRefused } from './keyQuestion.ts'
import { asError, toastError } from './toasts.ts'
import { tellTask } from './tasks.ts'

export type ApiClient = Client<Api>
export type Answer<Name extends CallName<Api> | StreamName<Api>> = OutputOf<Api, Name>

const ApiContext = createContext<ApiClient | null>(null)

export function ApiProvider({ client, children }: { client: ApiClient; children: ReactNode }) {
  return <ApiContext value={client}>{children}</ApiContext>
}

export function useApi(): ApiClient {
  const client = use(ApiContext)
  if (client === null) throw new Error('Expected an ApiProvider above.')
  return client
}

/** Untyped view of the client: the contract's types are checked where a hook is called; inside, all procedures are alike. */
interface LooseClient {
  call(name: string, input: unknown, options: { signal?: AbortSignal }): Promise<unknown>
  stream(name: string, input: unknown, options: { signal?: AbortSignal }): AsyncIterable<unknown>
}

const loose = (client: ApiClient): LooseClient => client

export interface AnswerOptions {
  readonly enabled?: boolean
  /** Time an answer stays valid without an update, in ms. Default: forever; updates of its area refetch it. */
  readonly staleMs?: number
  /** Shows the previous answer while the next one is loading. */
  readonly keep?: boolean
}

export interface AnswerState<Data> {
  readonly data: Data | undefined
  readonly error: Error | null
  readonly isPending: boolean
  /** True while the data is the previous answer and a new one is loading. */
  readonly isPrevious: boolean
  readonly refetch: () => void
}

/** Queries the host; refetched when its area is updated. */
export function useAnswer<Name extends CallName<Api>>(
  name: Name,
  input: InputOf<Api, Name>,
  { enabled = true, staleMs = Infinity, keep = false }: AnswerOptions = {},
): AnswerState<OutputOf<Api, Name>> {
  const client = useApi()
  type Output = OutputOf<Api, Name>
  const { data, error, isPending, isPlaceholderData, refetch } = useQuery({
    queryKey: [name, input],
    // An answer may be undefined, which the cache must not take for a missing one.
    queryFn: async ({ signal }): Promise<unknown> =>
      (await loose(client).call(name, input, { signal })) ?? null,
    enabled,
    staleTime: staleMs,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
  })
  const again = useCallback(() => void refetch(), [refetch])
  const isPrevious = isPlaceholderData
  return { data: data as Output | undefined, error, isPending, isPrevious, refetch: again }
}

const dataOf = (answers: readonly { readonly data: unknown }[]) => answers.map(({ data }) => data)

interface ManyOptions<Data, Selected> {
  readonly enabled?: boolean
  readonly staleMs?: number
  /** Selects part of an answer; must be a stable function. */
  readonly select?: (data: Data) => Selected
}

/** Queries the host for several inputs; undefined while loading. Returns the same array while the answers are equal. */
export function useAnswers<Name extends CallName<Api>, Selected = OutputOf<Api, Name>>(
  name: Name,
  inputs: readonly InputOf<Api, Name>[],
  { enabled = true, staleMs = Infinity, select }: ManyOptions<OutputOf<Api, Name>, Selected> = {},
): readonly (Selected | undefined)[] {
  const client = useApi()
  const options = {
    enabled,
    staleTime: staleMs,
    ...(select && { select: select as (data: unknown) => unknown }),
  }
  const answers = useQueries({
    queries: inputs.map((input) => ({
      queryKey: [name, input],
      queryFn: ({ signal }: { signal: AbortSignal }) => loose(client).call(name, input, { signal }),
      ...options,
      // The lists below are compared in any case.
      structuralSharing: false,
    })),
    combine: dataOf,
  })
  return answers as readonly (Selected | undefined)[]
}

/** Refetches the queries of these areas, optionally only those about some runs. */
export function invalidate(queries: QueryClient, areas: readonly string[], runIds?: readonly string[]): void {
  const names = (input: unknown) => {
    const text = JSON.stringify(input ?? null)
    return runIds?.some((runId) => text.includes(runId)) ?? true
  }
  void queries.invalidateQueries({
    predicate: ({ queryKey: [name, input] }) =>
      typeof name === 'string' &&
      areas.some((area) => name === area || name.startsWith(`${area}.`)) &&
      names(input),
  })
}

export interface CommandOptions<Output> {
  readonly onDone?: (output: Output) => void
  /** Suppresses the error notice; the caller shows `error`. */
  readonly quiet?: boolean
}

export interface Command<Input, Output> {
  /** Resolves with undefined on failure. */
  readonly run: (input: Input) => Promise<Output | undefined>
  readonly isRunning: boolean
  readonly error: Error | null
}

export function useCommand<Name extends CallName<Api>>(
  name: Name,
  options: CommandOptions<OutputOf<Api, Name>> = {},
): Command<InputOf<Api, Name>, OutputOf<Api, Name>> {
  const client = useApi()
  const { mutateAsync, isPending, error } = useMutation({
    mutationFn: (input: InputOf<Api, Name>) =>
      loose(client).call(name, input, {}) as Promise<OutputOf<Api, Name>>,
    onSuccess: (output) => options.onDone?.(output),
    onError(thrown) {
      askWhereRefused(asError(thrown))
      if (options.quiet !== true) toastError(asError(thrown))
    },
    networkMode: 'always',
  })
  const run = useCallback(
    (input: InputOf<Api, Name>) => mutateAsync(input).catch(() => undefined),
    [mutateAsync],
  )
  return { run, isRunning: isPending, error: error === null ? null : asError(error) }
}

export type TaskState = 'idle' | 'running' | 'done' | 'failed' | 'cancelled'

export interface Task<Input, Item> {
  readonly start: (input: Input) => void
  readonly cancel: () => void
  readonly clear: () => void
  /** All items so far, updated at most four times a second. */
  readonly items: readonly Item[]
  readonly last: Item | undefined
  readonly state: TaskState
  readonly error: Error | null
}

interface TaskView<Item> {
  readonly items: readonly Item[]
  readonly state: TaskState
  readonly error: Error | null
}

/** Runs a long task of the host. Starting again, cancelling or leaving the screen ends the previous one. */
export function useTask<Name extends StreamName<Api>>(
  name: Name,
): Task<InputOf<Api, Name>, OutputOf<Api, Name>> {
  type Item = OutputOf<Api, Name>
  const client = useApi()
  const idle: TaskView<Item> = { items: [], state: 'idle', error: null }
  const [view, setView] = useState(idle)
  const current = useRef<AbortController | null>(null)
  useEffect(() => () => current.current?.abort(), [])

  const start = useCallback(
    (input: InputOf<Api, Name>) => {
      current.current?.abort()
      const controller = new AbortController()
      current.current = controller
      const isCurrent = () => current.current === controller
      setView({ items: [], state: 'running', error: null })
      const items = batch<Item>((more) => {
        if (isCurrent()) setView((before) => ({ ...before, items: [...before.items, ...more] }))
      })
      const tellEnd = tellTask(name)
      const read = async () => {
        for await (const item of loose(client).stream(name, input, { signal: controller.signal }))
          items.add(item as Item)
      }
      read()
        .then(
          () => {
            items.flush()
            if (isCurrent()) setView((before) => ({ ...before, state: 'done' }))
          },
          (thrown: unknown) => {
            items.flush()
            if (!isCurrent()) return
            const state = controller.signal.aborted ? 'cancelled' : 'failed'
            if (state === 'failed') askWhereRefused(asError(thrown))
            setView((before) => ({ ...before, state, error: state === 'failed' ? asError(thrown) : null }))
          },
        )
        .finally(tellEnd)
    },
    [client, name],
  )
  const cancel = useCallback(() => current.current?.abort(), [])
  const clear = useCallback(() => {
    current.current?.abort()
    current.current = null
    setView({ items: [], state: 'idle', error: null })
  }, [])
  return { start, cancel, clear, ...view, last: view.items.at(-1) }
}

type ResultOf<Item> = Extract<Item, { readonly result: unknown }>['result']

/** Runs a task like `useTask`, and receives its result once it is done. */
export function useTaskResult<Name extends StreamName<Api>>(
  name: Name,
  onResult: (result: ResultOf<OutputOf<Api, Name>>) => void,
): Task<InputOf<Api, Name>, OutputOf<Api, Name>> {
  const task = useTask(name)
  const { last, state } = task
  const latest = useLatest(onResult)
  useEffect(() => {
    const item: unknown = last
    if (state === 'done' && typeof item === 'object' && item !== null && 'result' in item)
      latest.current(item.result)
  }, [last, state, latest])
  return task
}

/** Returns the latest value, for functions that must stay stable when it changes. */
export function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value)
  useEffect(() => {
    latest.current = value
  })
  return latest
}

/** Shortest interval between redraws of a page, in ms, however fast updates arrive. */
const redrawnEveryMs = 250
/** Pause after a redraw, as a multiple of its duration: a run trains on the same cores. */
const timesItsCost = 10
/** Longest pause, in ms, however slow drawing is. */
const seenWithinMs = 5_000

interface Batch<Item> {
  readonly add: (item: Item) => void
  readonly flush: () => void
}

/** Reports the milliseconds until the changes made before the call are on screen. */
function onDrawn(tell: (ms: number) => void): void {
  const from = performance.now()
  requestAnimationFrame(() => setTimeout(() => tell(performance.now() - from)))
}

/** Delivers the first item at once and later ones in batches, less often the longer they take to draw. */
export function batch<Item>(take: (items: readonly Item[]) => void, everyMs = redrawnEveryMs): Batch<Item> {
  let waiting: Item[] = []
  let timer: ReturnType<typeof setTimeout> | null = null
  let lastAt = -Infinity
  let pauseMs = everyMs
  const stopTimer = () => {
    if (timer !== null) clearTimeout(timer)
    timer = null
  }
  const startTimer = () => {
    timer = setTimeout(flush, Math.max(0, lastAt + pauseMs - performance.now()))
  }
  const flush = () => {
    stopTimer()
    if (waiting.length === 0) return
    const items = waiting
    waiting = []
    lastAt = performance.now()
    pauseMs = seenWithinMs // nothing is drawn of a page that is hidden
    onDrawn((ms) => {
      pauseMs = Math.max(everyMs, Math.min(seenWithinMs, timesItsCost * ms))
      stopTimer()
      if (waiting.length > 0) startTimer()
    })
    take(items)
  }
  return {
    add(item) {
      waiting.push(item)
      if (timer === null) startTimer()
    },
    flush,
  }
}
