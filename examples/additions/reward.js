// The last number must be right; the fewer words around it, the better, but never less than half.
export default function addition({ completion, row }) {
  const [last] = (completion.match(/-?\d+/g) ?? []).slice(-1)
  if (last !== row.answer) return 0
  const words = completion.trim().split(/\s+/).length
  return Math.max(0.5, 1 - 0.05 * (words - 1))
}
