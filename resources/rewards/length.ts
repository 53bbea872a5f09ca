// 0 up to `free` words, then falling linearly to −1 at `limit` words. Combine it with a reward for correctness.
export const settings = { free: 100, limit: 200 }

export default function length({ completion, settings, log }) {
  const words = completion.trim() === '' ? 0 : completion.trim().split(/\s+/).length
  log.metric('words', words)
  const excess = (words - settings.free) / (settings.limit - settings.free)
  return -Math.min(1, Math.max(0, excess))
}
