/** The known word nearest to a mistyped one, or undefined where none is near. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  const limit = word.length < 4 ? 1 : Math.max(2, Math.floor(word.length / 3))
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ distance }) => distance <= limit)
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.candidate ?? known.find((candidate) => word.length > 2 && candidate.startsWith(word))
}

/** Levenshtein 1966: insertions, deletions and substitutions between two words. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const substituted = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      current.push(Math.min(substituted, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[to.length] ?? 0
}
