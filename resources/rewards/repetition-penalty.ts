// From 0 (no phrase is repeated) down to −1 (the same phrase throughout). A phrase is `size` consecutive words.
export const settings = { size: 3 }

export default function repetitionPenalty({ completion, settings, log }) {
  const words = completion.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  const count = words.length - settings.size + 1
  if (count <= 1) return 0
  const phrases = new Set<string>()
  for (let i = 0; i < count; i++) phrases.add(words.slice(i, i + settings.size).join(' '))
  const repeated = 1 - phrases.size / count
  log.metric('repetition', repeated)
  return -repeated
}
