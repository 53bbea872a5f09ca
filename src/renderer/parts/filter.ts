/** Filter of the runs in the history. */
import type { RunEntry, RunStatus } from '#shared/runs.ts'
import { lastPart } from '#renderer/client/format.ts'
import { runTitle } from '#renderer/client/words.ts'

export type RunLike = Pick<
  RunEntry,
  'id' | 'name' | 'algorithm' | 'algorithmTitle' | 'model' | 'seed' | 'status' | 'studyId' | 'tags' | 'notes'
>

export interface RunFilter {
  /** Part of the name; else words that must all occur in name, tags, method, model or notes; `seed:1`, `id:…`. */
  readonly text: string
  /** Empty: any. */
  readonly status: RunStatus | ''
  readonly algorithm: string
  readonly tag: string
  readonly study: string
}

export const noFilter: RunFilter = { text: '', status: '', algorithm: '', tag: '', study: '' }

export const isFiltering = ({ text, ...chosen }: RunFilter): boolean =>
  text.trim() !== '' || Object.values(chosen).some((value) => value !== '')

export const searchHint = 'Name, tag, note, seed:1, id:…'

export function filterRuns<Run extends RunLike>(runs: readonly Run[], filter: RunFilter): readonly Run[] {
  const phrase = filter.text.trim().toLowerCase()
  return runs.filter((run) => {
    if (filter.status !== '' && run.status !== filter.status) return false
    if (filter.algorithm !== '' && run.algorithmTitle !== filter.algorithm) return false
    if (filter.study !== '' && run.studyId !== filter.study) return false
    if (filter.tag !== '' && !run.tags.includes(filter.tag)) return false
    return runTitle(run).toLowerCase().includes(phrase) || hasAllWords(run, phrase.split(/\s+/))
  })
}

function hasAllWords(run: RunLike, words: readonly string[]): boolean {
  const said = [runTitle(run), ...run.tags, run.algorithm, run.algorithmTitle, lastPart(run.model), run.notes]
  const text = said.join('\n').toLowerCase()
  return words.every((word) => {
    if (word.startsWith('seed:')) return String(run.seed) === word.slice('seed:'.length)
    if (word.startsWith('id:')) return run.id.toLowerCase().includes(word.slice('id:'.length))
    if (word.startsWith('run_')) return run.id.toLowerCase().startsWith(word)
    // 1 is not part of 21.
    return /^\d+$/.test(word) ? new RegExp(String.raw`(?<!\w)${word}(?!\w)`).test(text) : text.includes(word)
  })
}

export function choicesOf(runs: readonly RunLike[]) {
  const sorted = (values: readonly string[]) => [...new Set(values)].sort((a, b) => a.localeCompare(b))
  return {
    algorithms: sorted(runs.map(({ algorithmTitle }) => algorithmTitle)),
    tags: sorted(runs.flatMap(({ tags }) => tags)),
  }
}

/** Returns the range selected by a click with shift, from the last row clicked to this one. */
export function between(order: readonly string[], from: string | null, to: string): readonly string[] {
  const [a, b] = [from === null ? -1 : order.indexOf(from), order.indexOf(to)]
  if (a < 0 || b < 0) return [to]
  return order.slice(Math.min(a, b), Math.max(a, b) + 1)
}
