/** Two texts word by word. */

export interface DiffPart {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** Longer texts are compared in their common beginning and end only; the middle counts as replaced. */
const maxWords = 1500

/** Spaces belong to the word before them. */
const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+\s*|\s+/g) ?? []

export function wordDiff(before: string, after: string): readonly DiffPart[] {
  const [a, b] = [wordsOf(before), wordsOf(after)]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end])
    end++
  const middle = compared(a.slice(start, a.length - end), b.slice(start, b.length - end))
  const same = (words: readonly string[]): DiffPart[] => words.map((text) => ({ kind: 'same', text }))
  return joined([...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - end))])
}

function compared(a: readonly string[], b: readonly string[]): readonly DiffPart[] {
  const removed = a.map((text): DiffPart => ({ kind: 'removed', text }))
  const added = b.map((text): DiffPart => ({ kind: 'added', text }))
  if (a.length === 0 || b.length === 0 || a.length > maxWords || b.length > maxWords)
    return [...removed, ...added]
  return walked(a, b, commonLengths(a, b))
}

/** lengths[i × (|b| + 1) + j]: how many words a from i on and b from j on have in common, in order. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint16Array {
  const width = b.length + 1
  const lengths = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const [below, right] = [lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0]
      const diagonal = lengths[(i + 1) * width + j + 1] ?? 0
      lengths[i * width + j] = a[i] === b[j] ? diagonal + 1 : Math.max(below, right)
    }
  }
  return lengths
}

function walked(a: readonly string[], b: readonly string[], lengths: Uint16Array): readonly DiffPart[] {
  const parts: DiffPart[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const kind = kindAt(a, b, { i, j, lengths })
    parts.push({ kind, text: (kind === 'added' ? b[j] : a[i]) ?? '' })
    if (kind !== 'added') i++
    if (kind !== 'removed') j++
  }
  return parts
}

interface Place {
  readonly i: number
  readonly j: number
  readonly lengths: Uint16Array
}

/** What keeps the most words in common for what follows. */
function kindAt(a: readonly string[], b: readonly string[], { i, j, lengths }: Place): DiffPart['kind'] {
  if (i >= a.length) return 'added'
  if (j >= b.length) return 'removed'
  if (a[i] === b[j]) return 'same'
  const width = b.length + 1
  return (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0) ? 'removed' : 'added'
}

function joined(parts: readonly DiffPart[]): readonly DiffPart[] {
  const whole: DiffPart[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    if (last?.kind === part.kind) whole[whole.length - 1] = { kind: part.kind, text: last.text + part.text }
    else whole.push(part)
  }
  return whole
}
