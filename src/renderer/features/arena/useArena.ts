/** State of a blind vote: prompt, completions, and the votes so far. */
import type { RequestSettings } from '#shared/config/fields.ts'
import { useCallback, useMemo, useState } from 'react'
import { sampling as samplingSettings } from '#shared/api/models.ts'
import {
  completions,
  maxVotes,
  type Completion,
  shuffled,
  type Vote,
  writeChoice,
} from '#renderer/parts/candidates.ts'
import type { Answered } from '#renderer/parts/useLabels.ts'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { useAnswer, useApi, useTask } from '#renderer/client/api.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'
import { useSetting } from '#renderer/client/settings.ts'

/** Sampling settings that all columns share. */
export const sharedSampling = samplingSettings.pick({ temperature: true, maxNewTokens: true, seed: true })
export type Sampling = RequestSettings<typeof sharedSampling>

/** Returns a row's prompt as a run would show it to the model, or null. */
export function useDataSetPrompt(versionId: string | null, index: number, model: string | null) {
  const isAsked = versionId !== null
  const id = versionId ?? ''
  const { data: about } = useAnswer('datasets.version', { versionId: id }, { enabled: isAsked })
  const prompt = about?.shape.prompt ?? {}
  const withModel = model === null ? {} : { model }
  const { data } = useAnswer(
    'datasets.preview',
    { versionId: id, prompt, from: index, count: 1, ...withModel },
    { enabled: isAsked && Boolean(about?.shape.prompt), keep: true },
  )
  const [preview] = data ?? []
  const text = preview !== undefined && 'text' in preview ? preview.text : null
  return { rows: about?.version.rows ?? 0, text }
}

export interface Round {
  /** Names it among the labels. */
  readonly id: string
  readonly candidates: readonly ModelChoice[]
  readonly prompt: string
  /** True if the prompt is a message; else the model continues it. */
  readonly asChat: boolean
  readonly sampling: Sampling
  readonly order: readonly number[]
  readonly isBlind: boolean
}

export interface RoundView {
  readonly round: Round | null
  readonly completions: readonly Completion[]
  readonly isRunning: boolean
  readonly isDone: boolean
  readonly error: Error | null
  readonly start: (round: Omit<Round, 'id' | 'order'>) => void
  readonly cancel: () => void
}

const asMessages = (content: string) => [{ role: 'user', content }]

/** An answer of a round, as it can be labelled. */
export function answeredIn(round: Round, written: readonly Completion[], column: number): Answered {
  const { id, candidates, prompt, asChat } = round
  const by = candidates[column]
  return {
    kind: 'vote',
    round: id,
    column,
    by: by === undefined ? '' : writeChoice(by),
    prompt: asChat ? asMessages(prompt) : prompt,
    answers: written.map(({ text }) => text),
    isTruncated: written[column]?.stopReason === 'length',
  }
}

export function useRound(): RoundView {
  const task = useTask('models.generate')
  const [round, setRound] = useState<Round | null>(null)
  const { start: begin } = task
  const start = useCallback(
    (next: Omit<Round, 'id' | 'order'>) => {
      const { candidates, prompt, asChat, sampling, isBlind } = next
      const order = isBlind ? shuffled(candidates.length, Math.random) : candidates.map((_, i) => i)
      setRound({ ...next, order, id: crypto.randomUUID() })
      begin({
        candidates: order.flatMap((index) => candidates[index] ?? []),
        prompt: asChat ? { messages: asMessages(prompt) } : { text: prompt },
        sampling,
      })
    },
    [begin],
  )
  const written = useMemo(() => completions(task.items, round?.order ?? []), [task.items, round?.order])
  const isRunning = task.state === 'running'
  return {
    round,
    completions: written,
    isRunning,
    isDone: task.state === 'done',
    error: task.error,
    start,
    cancel: task.cancel,
  }
}

const votesKey = 'arena.votes'

const votesOf = (kept: unknown): readonly Vote[] => (Array.isArray(kept) ? (kept as readonly Vote[]) : [])

export function useVotes() {
  const client = useApi()
  const [votes, setVotes] = useSetting<readonly Vote[]>(votesKey, [])
  const add = useCallback(
    (vote: Omit<Vote, 'at'>) => {
      // Another tab may have voted a moment ago.
      client.call('settings.get', { key: votesKey }).then(
        (kept) => setVotes([...votesOf(kept), { ...vote, at: Date.now() }].slice(-maxVotes)),
        (thrown: unknown) => toastError(asError(thrown)),
      )
    },
    [client, setVotes],
  )
  const clear = useCallback(() => setVotes([]), [setVotes])
  const removeLast = () => setVotes(votes.slice(0, -1))
  return { votes, add, clear, removeLast }
}
