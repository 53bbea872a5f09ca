/** Reads a mathematical answer out of text, and compares two of them. */
import { unitOf } from './units.ts'
import { numberSource } from './readLiteral.ts'
import { parseMath, type ParsedMath } from './parseMath.ts'
import { isSameMath } from './sameMath.ts'
import { statedAnswer } from './statedAnswer.ts'

export interface MathAnswer {
  /** As it is written, but for spaces and marks that change only how it looks. */
  readonly text: string
  /** null where it is words or mathematics that is not known. */
  readonly math: ParsedMath | null
}

/** null for a column that holds neither mathematics nor a few words. */
export function expectedMath(text: string): MathAnswer | null {
  const answer = readAnswer(text)
  const isWords = answer.math === null || answer.math.tree.kind === 'symbol'
  return !isWords || isShortPhrase(answer.text) || answer.text.startsWith('\\') ? answer : null
}

/** Words such as “odd” or “Tuesday” are compared as they are; a sentence could be put in another way. */
const isShortPhrase = (text: string): boolean =>
  /^[\p{L}\p{M}'’ ()-]{1,60}$/u.test(text) && text.split(' ').length <= 4

export function readAnswer(text: string): MathAnswer {
  const { text: stated, kind } = statedAnswer(repaired(text), (line) => parseMath(line) !== null)
  return answerOf(kind === 'marked' ? stated : lastMath(stated, kind === 'said'))
}

/** LaTeX out of JSON that was escaped twice. */
const repaired = (text: string): string =>
  text.includes('\\begin') ? text : text.replace(/\\\\(?=[a-zA-Z(){}[\],;!%$])/g, '\\')

const spans = /\$\$[^$]+\$\$|\$(?:\\\$|[^$\n])+\$|\\\((?:(?!\\[()]).)+\\\)|\\\[(?:(?!\\[[\]])[^])+\\\]/g
const joins = /^[\s,;]*(?:and|or)?[\s,;]*$/
const number = new RegExp(String.raw`(?<![\p{L}\p{N}_.,\\{^])${numberSource}(?![\p{L}\p{N}])`, 'gu')

/** The last formula of a text, with those it belongs together with; in plain text the last number. */
function lastMath(text: string, isFirst: boolean): string {
  const found = [...text.matchAll(spans)].map(({ index, 0: span }) => ({ span, from: index, to: index + span.length }))
  if (found.length === 0) return parseMath(text) === null ? lastNumber(text, isFirst) : text
  if (found.length === 1 && found[0]!.span === text) return text
  const group = [isFirst ? found.shift()! : found.pop()!]
  const edge = () => (isFirst ? group.at(-1)! : group[0]!)
  for (let next = isFirst ? found.shift() : found.pop(); next !== undefined; next = isFirst ? found.shift() : found.pop()) {
    const between = isFirst ? text.slice(edge().to, next.from) : text.slice(next.to, edge().from)
    if (!/,|;|and|or/.test(between) || !joins.test(between)) break
    if (isFirst) group.push(next)
    else group.unshift(next)
  }
  const behind = /^\s*(?:\\?%|percent\b|pct\b)/.exec(text.slice(group.at(-1)!.to))?.[0] ?? ''
  return `${group.map(({ span }) => span).join(', ')}${behind}`
}

function lastNumber(text: string, isFirst: boolean): string {
  const found = [...text.matchAll(number)]
  return (isFirst ? found[0] : found.at(-1))?.[0] ?? text
}

const answerOf = (text: string): MathAnswer => {
  const trimmed = text.trim().replace(/(?<!\\)[.,;:]+$/, '')
  return { text: writtenAlike(trimmed), math: parseMath(trimmed) }
}

const looks: readonly (readonly [RegExp, string])[] = [
  [/\$|\\(?:left|right|displaystyle|quad|qquad)(?![a-zA-Z])|\\[()[\],;:! ]/g, ' '],
  [/\\(?:text|textbf|textit|mbox|mathrm|mathbf|boxed)\s*\{([^{}]*)\}/g, '$1'],
  [/\\[dtc]frac/g, '\\frac'],
  [/\s+/g, ' '],
]

const writtenAlike = (text: string): string =>
  looks.reduce((changed, [pattern, as]) => changed.replace(pattern, as), text).trim()

/** Choices are compared without their brackets; words without their case. */
const choice = (text: string): string => {
  const bare = text.replace(/^\(\s*([a-zA-Z])\s*\)$/, '$1')
  return bare.length > 1 && /^[\p{L}\p{M}'’ -]+$/u.test(bare) ? bare.toLowerCase() : bare
}

/** Whether `found` says what `expected` says; `tolerance` as `isNear` has it, where one of them is a decimal. */
export function isSameAnswer(expected: MathAnswer, found: MathAnswer, tolerance: number): boolean {
  if (choice(expected.text) === choice(found.text)) return true
  if (expected.math === null || found.math === null) return false
  const [unit, other] = [unitOf(expected.math.words), unitOf(found.math.words)]
  if (unit !== null && other !== null && unit !== other) return false
  return isSameMath(expected.math.tree, found.math.tree, tolerance)
}
