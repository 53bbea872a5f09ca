/** Where Alt and a key take an entry of the queue; null: nowhere. */
export function keyMove(
  { key, altKey }: { readonly key: string; readonly altKey: boolean },
  place: number,
  count: number,
): number | null {
  if (!altKey) return null
  const to = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: count - 1 }[key]
  return to === undefined || to < 0 || to >= count || to === place ? null : to
}
