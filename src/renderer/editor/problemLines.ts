/** Location in code where something went wrong, as reported by the sandbox. Lines and columns from 1. */
export interface CodeFailurePlace {
  readonly line: number
  readonly column?: number | null
  readonly sentence: string
}

/** Returns one entry per line, in order: the most frequent problem of the line, with the number of others. */
export function linesOf(
  problems: readonly CodeFailurePlace[],
  lineCount: number,
): readonly { readonly line: number; readonly sentence: string }[] {
  const byLine = Map.groupBy(problems, ({ line }) => Math.min(Math.max(1, line), Math.max(1, lineCount)))
  return [...byLine]
    .sort(([a], [b]) => a - b)
    .map(([line, group]) => {
      const sentences = [...Map.groupBy(group, ({ sentence }) => sentence)].sort(
        (a, b) => b[1].length - a[1].length,
      )
      const [most] = sentences
      const others = sentences.length - 1
      const more =
        others === 0 ? '' : ` (and ${others === 1 ? 'another failure' : `${String(others)} other failures`})`
      return { line, sentence: `${firstLine(most?.[0] ?? '')}${more}` }
    })
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? ''
