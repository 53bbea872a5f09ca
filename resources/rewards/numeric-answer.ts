// 1 if the completion states the number in the answer of the row: whole numbers digit by digit, decimals within a tolerance.
export const settings = { column: 'answer', tolerance: 1e-6 }

const number =
  /(?<![\w.)])[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d*\.?\d+)(?:e[-+]?\d{1,3})?(?:\s*\/\s*\d+)?/gi

/** One way of writing: minus signs, full-width digits, \frac{3}{4} as 3/4. */
const plain = (text) =>
  text
    .replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .replace(/[\u2010-\u2013\u2212]/g, '-')
    .replace(/\\[dt]?frac\{(-?\d+)\}\{(\d+)\}/g, '$1/$2')
    .replace(/[$€£]|\\[$%!,]/g, '')

/** What a marker holds, else the whole text: the last box, what is behind ####, or behind “the answer is”. */
function stated(text) {
  const boxed = [...text.matchAll(/\\boxed\{([^{}]*)\}/g)].at(-1)
  const line = [...text.matchAll(/####\s*([-+\d.,/ ]+)/g)].at(-1)
  const said = [...text.matchAll(/answer(?:\s+is|:)\s*([^\n]*?)(?:[.!]?\s*$|[.!]\s)/gim)].at(-1)
  return (boxed ?? line ?? said)?.[1] ?? text
}

/** The last number; null where it is part of an expression, such as 2\sqrt{3} or (1, 2). */
function lastNumber(text) {
  const found = [...text.matchAll(number)].at(-1)
  if (found === undefined) return null
  const before = text.slice(0, found.index)
  const after = text.slice(found.index + found[0].length)
  if (/[\w)}]\s*[-+*/^×÷]\s*$|[{(^_]\s*$|\d[\s,]*$/.test(before)) return null
  return /^\s*(?:[+*/^×÷(\\)}]|-\s*[\d(]|[a-z](?![a-z])|[,.]\d)/i.test(after) ? null : found[0]
}

/** Whether two numbers are the same. Only decimals have a tolerance, which is relative. */
function isSame(expected, found, tolerance) {
  const [a, b] = [expected, found].map((each) => each.replace(/[,+\s]/g, ''))
  if ([a, b].every((each) => /^-?\d+$/.test(each))) return BigInt(a) === BigInt(b)
  const [x, y] = [valueOf(a), valueOf(b)]
  if (![x, y].every(Number.isFinite)) return false
  return x === y || Math.abs(x - y) <= tolerance * Math.max(Math.abs(x), Math.abs(y))
}

function valueOf(text) {
  const [above, below = '1'] = text.split('/')
  return Number(above) / Number(below)
}

export default function numericAnswer({ completion, row, settings, log }) {
  const answer = stated(plain(String(row[settings.column] ?? '')))
  const expected = lastNumber(answer)
  if (expected === null) return null
  const found = lastNumber(stated(plain(completion)))
  log.column('number', found) // shown beside the sample: the number that was compared
  return found !== null && isSame(expected, found, settings.tolerance) ? 1 : 0
}
