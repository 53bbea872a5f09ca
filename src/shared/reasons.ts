/** Summaries of many messages. */

const mostNamed = 3

/** Joins distinct messages, most frequent first, each with its count if there are several. */
export function reasonWords(messages: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const message of messages) counts.set(message, (counts.get(message) ?? 0) + 1)
  const all = [...counts].sort(([, a], [, b]) => b - a)
  if (all.length === 1) return all[0]?.[0] ?? ''
  const named = all
    .slice(0, mostNamed)
    .map(([message, count]) => `${String(count)} × ${message.replace(/\.$/, '')}`)
  const others = all.slice(mostNamed).reduce((sum, [, count]) => sum + count, 0)
  if (others > 0) named.push(`${String(others)} × something else`)
  return named.length === 0 ? '' : `${named.join('; ')}.`
}
