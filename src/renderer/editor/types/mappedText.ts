/** A text with pieces put into it, and the way between places in the two. */

export interface Insertion {
  /** Place in the text as it was. */
  readonly at: number
  readonly text: string
}

export interface MappedText {
  readonly text: string
  /** Behind what was put in at the very same place. */
  toMapped(offset: number): number
  /** A place inside a piece that was put in becomes the place it was put. */
  toOriginal(offset: number): number
}

/** Insertions at one place stand in the order given. */
export function insertInto(original: string, insertions: readonly Insertion[]): MappedText {
  const sorted = [...insertions].sort((a, b) => a.at - b.at)
  let text = ''
  let from = 0
  for (const { at, text: piece } of sorted) {
    text += original.slice(from, at) + piece
    from = at
  }
  text += original.slice(from)
  return {
    text,
    toMapped: (offset) =>
      sorted.reduce((moved, { at, text: piece }) => (at <= offset ? moved + piece.length : moved), offset),
    toOriginal(offset) {
      let shift = 0
      for (const { at, text: piece } of sorted) {
        const start = at + shift
        if (offset < start) break
        if (offset < start + piece.length) return at
        shift += piece.length
      }
      return offset - shift
    },
  }
}
