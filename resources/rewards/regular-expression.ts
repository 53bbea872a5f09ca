// 1 if a regular expression matches. Its first group, if it has one, must be the answer of the row.
export const settings = { pattern: 'answer is\\s+(.+?)\\.?\\s*$', flags: 'im', column: 'answer' }

export default function regularExpression({ completion, row, settings, log }) {
  const found = new RegExp(settings.pattern, settings.flags).exec(completion)
  log.column('found', found?.[1] ?? found?.[0] ?? null)
  if (found === null) return 0
  const answer = row[settings.column]
  if (found[1] === undefined || answer === undefined) return 1
  return found[1].trim() === String(answer).trim() ? 1 : 0
}
