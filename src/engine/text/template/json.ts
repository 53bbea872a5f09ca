import { boundedText, charge, joinedText, replacedText } from './limits.ts'
import { Float, isDict, isList, nameOfType, spellFloat, type Value } from './values.ts'

export interface JsonStyle {
  readonly indent: string | null
  readonly separators: readonly [item: string, key: string] | null
  readonly sortKeys: boolean
  readonly ensureAscii: boolean
}

/** As Python's json.dumps writes it. Errors: Error for values without a spelling in JSON. */
export function toJson(value: Value, style: JsonStyle, depth = 0): string {
  if (depth > 200) throw new Error('a value is nested too deep')
  charge(1)
  if (isList(value))
    return wrapped(
      '[]',
      value.map((item) => toJson(item, style, depth + 1)),
      style,
      depth,
    )
  if (!isDict(value)) return scalar(value, style)
  charge(value.size)
  const entries = [...value]
  if (style.sortKeys) entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const [, separator] = separatorsOf(style)
  const parts = entries.map(([key, item]) => quoted(key, style) + separator + toJson(item, style, depth + 1))
  return wrapped('{}', parts, style, depth)
}

function scalar(value: Value, style: JsonStyle): string {
  if (value === null) return 'null'
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  if (typeof value === 'string') return quoted(value, style)
  if (value instanceof Float) return jsonFloat(value.value)
  throw new Error(`Object of type ${nameOfType(value)} is not JSON serializable`)
}

const separatorsOf = ({ separators, indent }: JsonStyle): readonly [string, string] =>
  separators ?? [indent === null ? ', ' : ',', ': ']

/** Parts between two brackets, each on a line of its own where the style indents. */
function wrapped(brackets: '[]' | '{}', parts: readonly string[], style: JsonStyle, depth: number): string {
  const [open, close] = [brackets.charAt(0), brackets.charAt(1)]
  const [separator] = separatorsOf(style)
  if (style.indent === null || parts.length === 0) return open + joinedText(parts, separator) + close
  boundedText(style.indent, (depth + 1) * (parts.length + 1))
  const [outer, inner] = [`\n${style.indent.repeat(depth)}`, `\n${style.indent.repeat(depth + 1)}`]
  return open + inner + joinedText(parts, separator + inner) + outer + close
}

function jsonFloat(value: number): string {
  if (Number.isFinite(value)) return spellFloat(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'
}

function quoted(text: string, { ensureAscii }: JsonStyle): string {
  const plain = boundedText(JSON.stringify(boundedText(text)))
  if (!ensureAscii) return plain
  return replacedText(
    plain,
    /[\u007f-\uffff]/g,
    (unit = '') => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
