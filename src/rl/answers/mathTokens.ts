/** Splits LaTeX or plain mathematics into tokens. */

export interface MathToken {
  readonly type: 'number' | 'name' | 'command' | 'words' | 'sign'
  readonly text: string
  /** True if white space stands before it. */
  readonly isApart: boolean
  /** True if a letter stands in \\text or the like, as units do and variables do not. */
  readonly isDeclared?: boolean
}

/** Most characters of an answer; a longer text is none. */
const longestText = 2000
const mostTokens = 600

/** Commands without meaning for the value. */
const ignored =
  /\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|limits|enspace|thinspace|rm|bf|it|tiny|small|large)(?![a-zA-Z])|\\q?quad|\\[,;:! ]|\\(?=\s)|~|\$|\\[()[\]]/y

const wrappers =
  /\\(text|textbf|textit|textrm|textnormal|mbox|mathrm|operatorname|mathbf|mathit|mathbb|mathcal|mathsf|boldsymbol|bf|rm)\*?\s*\{/y
const wordOperators =
  /(?:arcsin|arccos|arctan|sinh|cosh|tanh|sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|pi|infinity|infty|inf|and|or|union|percent(?:age)?|pct|degrees?|theta|alpha|beta|gamma|lambda)(?![a-zA-Z])/y
const names: readonly (readonly [RegExp, MathToken['type']])[] = [
  [/[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+\.\d*(?:\d\u0305)+|\d+(?:\.\d+)?|\.\d+/y, 'number'],
  [/\\(?:[a-zA-Z]+|[{}|%\\])/y, 'command'],
  [wordOperators, 'command'],
  [/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]+/uy, 'words'],
  [/(?![xyz]+\b|[abc]+\b|[pqr]+\b|[mnk]+\b)(?:(?!\p{sc=Greek})\p{L}){3,}|\p{sc=Greek}{4,}/uy, 'words'],
  // Answers that would be products of two letters, in any order.
  [/(?<!\p{L})(?:no|on|up|in|at|to)(?!\p{L})/iuy, 'words'],
  [/\p{L}/uy, 'name'],
  [/<=|>=|!=|==|\*\*|\S/uy, 'sign'],
]
const plainNumber = /\d+\.\d*(?:\d\u0305)+|\d+(?:\.\d+)?|\.\d+/y

const greek = (letters: string, named: string): Readonly<Record<string, string>> =>
  Object.fromEntries(named.split(' ').map((name, i) => [letters.charAt(i), `\\${name}`]))

const signs: Readonly<Record<string, string>> = {
  '**': '^',
  '·': '*',
  '×': '*',
  '⋅': '*',
  '÷': '/',
  '−': '-',
  '≤': '<=',
  '≥': '>=',
  '≠': '!=',
  '==': '=',
  '∞': '\\infty',
  '√': '\\sqrt',
  '±': '\\pm',
  '∓': '\\mp',
  '∪': '\\cup',
  '∩': '\\cap',
  '∈': '\\in',
  '°': '\\circ',
  '∅': '\\emptyset',
  '∠': '\\angle',
  '△': '\\triangle',
  '⊂': '\\subset',
  '⊆': '\\subseteq',
  '⊥': '\\perp',
  ℝ: 'R',
  ℤ: 'Z',
  ℚ: 'Q',
  ℕ: 'N',
  ℂ: 'C',
  ...greek(
    'αβγδεζηθικλμνξπρςστυφχψω',
    'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho varsigma sigma tau upsilon phi chi psi omega',
  ),
  ...greek(
    'ΓΔΘΛΞΠΣΥΦΨΩµϕϑϵ',
    'Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega mu phi vartheta epsilon',
  ),
}

/** Splits a text into tokens; null where it is too long to be an answer. */
export function mathTokens(text: string): MathToken[] | null {
  if (text.length > longestText) return null
  const tokens: MathToken[] = []
  let isApart = false
  /** Commas in brackets stand between values. */
  let brackets = 0
  for (let at = 0; at < text.length && tokens.length <= mostTokens;) {
    const skipped = lengthOf(/\s+/y, text, at) || lengthOf(ignored, text, at)
    if (skipped > 0) {
      isApart = true
      at += skipped
      continue
    }
    const [token, length] = tokenAt(text, at, brackets > 0)
    tokens.push({ ...token, isApart })
    if (/^(?:[([]|\\\{)$/.test(token.text)) brackets++
    if (/^(?:[)\]]|\\\})$/.test(token.text)) brackets--
    isApart = false
    at += length
  }
  return tokens.length > mostTokens ? null : tokens
}

function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0].length ?? 0
}

function tokenAt(text: string, at: number, isInBrackets: boolean): [Omit<MathToken, 'isApart'>, number] {
  const opening = lengthOf(wrappers, text, at)
  const end = opening === 0 ? -1 : text.indexOf('}', at + opening)
  if (end >= 0) return [wordsOf(text.slice(at + opening, end)), end + 1 - at]
  const plain = isInBrackets ? lengthOf(plainNumber, text, at) : 0
  if (plain > 0) return [{ type: 'number', text: text.slice(at, at + plain) }, plain]
  for (const [pattern, type] of names) {
    const length = lengthOf(pattern, text, at)
    if (length > 0) return [named(type, text.slice(at, at + length)), length]
  }
  return [{ type: 'sign', text: ' ' }, 1]
}

function named(type: MathToken['type'], text: string): Omit<MathToken, 'isApart'> {
  const own =
    type === 'sign' || type === 'name'
      ? (signs[text] ?? text)
      : text.startsWith('\\') || type !== 'command'
        ? text
        : `\\${text}`
  return own.startsWith('\\') && type !== 'words' ? { type: 'command', text: own } : { type, text: own }
}

/** A single letter in \mathrm or \text is a name; “and” and “or” hold values apart. */
function wordsOf(inside: string): Omit<MathToken, 'isApart'> {
  const words = inside.replaceAll('~', ' ').trim()
  if (/^\p{L}$/u.test(words)) return { type: 'name', text: words, isDeclared: true }
  return /^,?\s*(?:and|or)$/.test(words) ? { type: 'command', text: '\\and' } : { type: 'words', text: words }
}
