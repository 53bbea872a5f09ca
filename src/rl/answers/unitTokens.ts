/** Finds the units among the tokens of a mathematical text: in 24 cm the letters are a unit, in 24cx factors. */
import type { MathToken } from './mathTokens.ts'
import { relations, separators } from './mathCommands.ts'
import { readUnit } from './units.ts'

const isEnd = (token: MathToken | undefined): boolean =>
  token === undefined ||
  (token.type !== 'words' &&
    (token.text in relations || [...separators, ';', ')', ']', '\\}'].includes(token.text)))

const inUnit = /^(?:[\^/*{}()-]|\\(?:[dt]?frac|cdot|times|circ|degrees?|mu|Omega|text)|[°μµΩ])$/u
const longestUnit = 24

/** Returns the tokens with those of a unit at the end of a value joined to one token of words. */
export function withUnits(read: readonly MathToken[]): MathToken[] {
  const tokens = withRemarks(read)
  const result: MathToken[] = []
  let start = 0
  for (let end = 0; end <= tokens.length; end++) {
    const isTrailing = end === tokens.length - 1 && /^[.,;:]$/.test(tokens[end]!.text)
    if (!isTrailing && !isEnd(tokens[end])) continue
    const values = tokens.slice(start, end)
    const from = unitStart(values)
    result.push(...values.slice(0, from))
    if (from < values.length)
      result.push({ type: 'words', text: writtenText(values.slice(from)), isApart: true })
    if (end < tokens.length) result.push(tokens[end]!)
    start = end + 1
  }
  return result
}

/** Marks words in brackets behind a value, as in 9 (apples), which multiply nothing. */
function withRemarks(tokens: readonly MathToken[]): MathToken[] {
  const result: MathToken[] = []
  for (let at = 0; at < tokens.length; at++) {
    const before = result.at(-1)
    const close = tokens.findIndex(({ text }, i) => i > at && text === ')')
    const inside = tokens.slice(at + 1, Math.max(at + 1, close))
    const opens = tokens[at]!.text === '(' && before !== undefined && endsValue(before)
    if (!opens || !isRemark(inside)) result.push(tokens[at]!)
    else {
      result.push({ type: 'words', text: writtenText(inside), isApart: true })
      at = close
    }
  }
  return result
}

const isRemark = (tokens: readonly MathToken[]): boolean =>
  tokens.length > 0 &&
  (tokens.every(({ type }) => type === 'words') || (isUnit(tokens) && isClear([], tokens)))

/** Finds where the unit at the end of a value begins; the length where there is none. */
function unitStart(values: readonly MathToken[]): number {
  const first = Math.max(1, values.length - longestUnit)
  for (let from = first; from < values.length; from++) {
    const unit = values.slice(from)
    if (endsValue(values[from - 1]!) && isUnit(unit) && isClear(values.slice(0, from), unit)) return from
  }
  return values.length
}

const endsValue = ({ type, text }: MathToken): boolean =>
  type === 'number' || ['}', ')', '\\pi', '%', '\\%'].includes(text)

function isUnit(tokens: readonly MathToken[]): boolean {
  const isMade = tokens.every(
    ({ type, text }, i) =>
      type === 'words' || type === 'name' || inUnit.test(text) || (type === 'number' && isPower(tokens, i)),
  )
  return isMade && readUnit(writtenText(tokens))?.rest === ''
}

const isPower = (tokens: readonly MathToken[], at: number): boolean =>
  /\^[{-]*$/.test(
    tokens
      .slice(Math.max(0, at - 3), at)
      .map(({ text }) => text)
      .join(''),
  )

const writtenText = (tokens: readonly MathToken[]): string =>
  tokens
    .map(
      ({ text, type, isApart }) =>
        `${isApart || type === 'words' ? ' ' : ''}${text}${type === 'command' ? ' ' : ''}`,
    )
    .join('')

/** Letters that are hardly variables side by side. */
const clear = new Set(['mm', 'cm', 'dm', 'km', 'kg', 'in', 'ft', 'yd', 'lb', 'oz', 'ml', 'mL', 'Hz'])

/** Returns true if plain letters are a unit and not variables: mg may be mass times gravity, 2πhr an area. */
function isClear(value: readonly MathToken[], unit: readonly MathToken[]): boolean {
  const isPlain = (token: MathToken): boolean => token.type === 'name' && token.isDeclared !== true
  if (!unit.some(isPlain)) return true
  if (value.some(isPlain)) return false
  const after = unit.findIndex((token, i) => !isPlain(token) || (i > 0 && token.isApart))
  const name = unit
    .slice(0, after < 0 ? unit.length : after)
    .map(({ text }) => text)
    .join('')
  if (clear.has(name)) return true
  const isNumeral =
    value.length > 0 &&
    value.every(({ type, text }) => type === 'number' || /^(?:[-+/{}]|\\[dt]?frac)$/.test(text))
  return isNumeral && (unit[0]!.isApart || unit.some(({ text }) => text === '/' || text === '\\circ'))
}
