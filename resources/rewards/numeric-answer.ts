// 1 if the last number of the completion is the number in the answer of the row.
export const settings = { column: 'answer', tolerance: 1e-6 }

const numbers = /[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?/g

function lastNumber(text: string): number | null {
  const found = text.match(numbers)?.at(-1)
  return found === undefined ? null : Number(found.replaceAll(',', '').replace('−', '-'))
}

export default function numericAnswer({ completion, row, settings, log }) {
  const expected = lastNumber(String(row[settings.column] ?? ''))
  if (expected === null) return null
  const found = lastNumber(completion)
  log.column('number', found) // shown beside the sample: the number that was compared
  if (found === null) return 0
  return Math.abs(found - expected) <= settings.tolerance * Math.max(1, Math.abs(expected)) ? 1 : 0
}
