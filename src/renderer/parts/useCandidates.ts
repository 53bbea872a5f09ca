/** Models chosen in the playground: in the address, and remembered, so that they stay when the mode changes. */
import { useEffect } from 'react'
import { useLatest } from '#renderer/client/api.tsx'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import { setQuery, useRoute } from '#renderer/client/route.ts'
import { useSetting } from '#renderer/client/settings.ts'
import { columnKeys, readChoice, writeChoice } from './candidates.ts'

const nobody: readonly string[] = []

export interface Candidates {
  readonly candidates: readonly ModelChoice[]
  readonly set: (next: readonly ModelChoice[]) => void
}

/** `open`: models of what is open at an address of its own, which are those chosen; null: the address names them. */
export function useCandidates(open: readonly ModelChoice[] | null = null): Candidates {
  const { query } = useRoute()
  const [kept, keep] = useSetting<readonly string[]>('playground.models', nobody)
  const named = columnKeys.flatMap((key) => query.get(key) ?? [])
  const chosen = (open?.map(writeChoice) ?? named).join('\n')
  const latest = useLatest({ kept, keep })
  useEffect(() => {
    const { kept: before, keep: remember } = latest.current
    // Another tab may have chosen others: only what changes here is remembered.
    if (chosen !== '' && chosen !== before.join('\n')) remember(chosen.split('\n'))
  }, [chosen, latest])
  const restored = chosen === '' && open === null ? kept.join('\n') : ''
  useEffect(() => {
    if (restored !== '') setQuery(queryOf(restored.split('\n')))
  }, [restored])
  const set = (next: readonly ModelChoice[]) => {
    keep(next.map(writeChoice))
    setQuery(queryOf(next.map(writeChoice)))
  }
  const texts = chosen === '' ? kept : chosen.split('\n')
  return { candidates: open ?? texts.flatMap((text) => readChoice(text) ?? []), set }
}

const queryOf = (texts: readonly string[]) =>
  Object.fromEntries(columnKeys.map((key, at) => [key, texts[at] ?? null]))
