// For completions of the form <think>…</think> <answer>…</answer>. Two functions: give each its own weight.
const form = /^\s*<think>(.*?)<\/think>\s*<answer>(.*?)<\/answer>\s*$/s

// 1 if the format is right and neither part is empty.
export function format({ completion }) {
  const found = form.exec(completion)
  if (found === null) return 0
  return found[1].trim() !== '' && found[2].trim() !== '' ? 1 : 0
}

// 1 if the answer part is the answer of the row.
export function correct({ completion, row, log }) {
  if (row.answer === undefined) return null
  const answer = form.exec(completion)?.[2].trim() ?? null
  log.column('answer given', answer)
  return answer === String(row.answer).trim() ? 1 : 0
}
