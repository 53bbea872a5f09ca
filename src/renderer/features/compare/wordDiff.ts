/** Two texts word by word. */
import { diffArrays } from 'diff'

export interface DiffPart {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** With more words changed than this, the whole text counts as replaced: the time grows with its square. */
const maxEditLength = 2000

/** Spaces belong to the word before them. */
const wordsOf = (text: string): string[] => text.match(/\s*\S+\s*|\s+/g) ?? []

export function wordDiff(before: string, after: string): readonly DiffPart[] {
  const changes = diffArrays(wordsOf(before), wordsOf(after), { maxEditLength })
  const replaced: DiffPart[] = [
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ]
  return (
    changes?.map(({ added, removed, value }) => ({
      kind: added ? 'added' : removed ? 'removed' : 'same',
      text: value.join(''),
    })) ?? replaced
  )
}
