import { replacedText } from './limits.ts'
import { isDict, numberOf, spell, textOf, type Value } from './values.ts'

/** Python's `text % values`, for the conversions that templates use. Errors: Error for others and for too few values. */
export function formatPercent(text: string, values: readonly Value[]): string {
  let used = 0
  const next = (): Value => {
    if (used >= values.length) throw new Error('not enough arguments for format string')
    return values[used++]
  }
  const [first] = values
  return replacedText(
    text,
    /%(?:\((\w+)\))?(?:\.(\d{1,2}))?(.?)/g,
    (_, key: string | undefined, digits: string | undefined, kind = '') => {
      if (kind === '%') return '%'
      const value = key === undefined ? next() : isDict(first) ? first.get(key) : undefined
      return convert(kind, value, digits)
    },
  )
}

function convert(kind: string, value: Value, digits: string | undefined): string {
  if (kind === 's') return textOf(value)
  if (kind === 'r') return spell(value)
  const number = numberOf(value)
  if (number === null || !'dif'.includes(kind) || kind === '') {
    throw new Error(`unsupported format %${kind} of ${spell(value)}`)
  }
  return kind === 'f' ? number.toFixed(Number(digits ?? 6)) : String(Math.trunc(number))
}

/** Python's `text.format(…)`: {}, {0} and {name}; no format specifications. */
export function formatBraces(
  text: string,
  args: readonly Value[],
  named: ReadonlyMap<string, Value>,
): string {
  let used = 0
  return replacedText(text, /\{\{|\}\}|\{([^{}]*)\}/g, (whole = '', name: string | undefined) => {
    if (name === undefined) return whole.charAt(0)
    const value = name === '' ? args[used++] : /^\d+$/.test(name) ? args[Number(name)] : named.get(name)
    if (value === undefined) throw new Error(`format has no value for {${name}}`)
    return textOf(value)
  })
}
