/** Labels of answers, wherever they are shown: reading, changing and taking back. */
import { useQueryClient } from '@tanstack/react-query'
import { useCallback } from 'react'
import { create } from 'zustand'
import type { Api } from '#shared/api/api.ts'
import type { InputOf } from '#shared/api/contract.ts'
import { invalidate, useAnswer, useApi, type Answer } from '#renderer/client/api.tsx'
import { asError, toastError } from '#renderer/client/toasts.ts'

export type Answered = InputOf<Api, 'labels.set'>['answered']
export type Label = Answer<'labels.of'>[number]
type SetOptions = Omit<InputOf<Api, 'labels.set'>, 'answered'>

/** Labels of the answers that are seen together; `group` as in #shared/labelGroups.ts, null for none yet. */
export function useLabels(group: string | null): readonly Label[] {
  const { data } = useAnswer('labels.of', { group: group ?? '' }, { staleMs: 0, enabled: group !== null })
  return data ?? []
}

/** The label of an answer; its place may have had another answer before. */
export const labelOf = (labels: readonly Label[], member: number, completion: string): Label | undefined =>
  labels.find((label) => label.member === member && label.completion === completion)

interface Undo {
  /** Run or conversation, or `vote`: a change is taken back only where it can be seen. */
  readonly scope: string
  readonly run: () => Promise<unknown>
}

/** Actions that take back each change that was made from this page, the last one last. */
const useUndos = create<{ readonly undos: readonly Undo[] }>(() => ({ undos: [] }))

/** Changes labels in a scope: of a run or conversation, or of `vote`. */
export function useLabelling(scope: string) {
  const client = useApi()
  const queries = useQueryClient()
  const attempt = useCallback(
    async (action: () => Promise<unknown>) => {
      try {
        await action()
      } catch (thrown) {
        toastError(asError(thrown))
      }
      invalidate(queries, ['labels'])
    },
    [queries],
  )
  /** Does what labels an answer, and keeps what takes it back. */
  const change = useCallback(
    (action: () => Promise<Undo['run']>) =>
      void attempt(async () => {
        const run = await action()
        useUndos.setState(({ undos }) => ({ undos: [...undos, { scope, run }] }))
      }),
    [attempt, scope],
  )
  const set = useCallback(
    (answered: Answered, options: SetOptions) =>
      change(async () => {
        const before = await client.call('labels.set', { answered, ...options })
        return () => client.call('labels.restore', before)
      }),
    [client, change],
  )
  return { set, change, attempt }
}

/** Takes back the last change in a scope; null where there is none. */
export function useUndoLabel(scope: string): (() => void) | null {
  const last = useUndos(({ undos }) => undos.findLast((undo) => undo.scope === scope))
  const { attempt } = useLabelling(scope)
  if (last === undefined) return null
  return () => {
    useUndos.setState(({ undos }) => ({ undos: undos.filter((undo) => undo !== last) }))
    void attempt(last.run)
  }
}
