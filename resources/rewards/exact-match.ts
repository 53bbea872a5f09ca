// 1 if the completion is the answer of the row and nothing else, else 0.
export const settings = { column: 'answer', ignoreCase: false }

const tidy = (text: string, ignoreCase: boolean) => {
  const plain = text.normalize('NFC').trim().replace(/\s+/g, ' ')
  return ignoreCase ? plain.toLowerCase() : plain
}

export default function exactMatch({ completion, row, settings }) {
  const answer = row[settings.column]
  if (answer === undefined || answer === null) return null // this row has no answer: the reward does not apply
  return tidy(completion, settings.ignoreCase) === tidy(String(answer), settings.ignoreCase) ? 1 : 0
}
