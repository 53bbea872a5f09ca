/** Judges a number by the words and signs around it: they may make it part of something else, a bound, or deny it. */
import { endsInMagnitude } from './magnitudes.ts'
import { isSame } from './rational.ts'
import { isUnspaced } from './plainText.ts'
import { conversion, readUnit, unitBehind, unitOf } from './units.ts'

const comparative = '(?:less|more|greater|fewer|smaller|larger|bigger|lower|higher)'
const counts = 'one|two|three|four|five|six|seven|eight|nine|ten'
const large = '(?:hundred|thousand|million|billion)'

/** Words that deny, bound or compute with the value behind them. */
const changedBefore: readonly RegExp[] = [
  new RegExp(
    String.raw`\b(?:not|never|isn['’]t|wasn['’]t|can['’]t be|cannot be|(?:could|might|may) be|${comparative} than(?: or equal to)?|at most|at least|up to|between|either|neither|nor|or|no (?:answer|solution|result|value)|almost|nearly|close to|exceed(?:s|ing)?|above|below|under|beyond)\s*$`,
    'i',
  ),
  /\b(?:except(?: for)?|excluding|besides|apart from|aside from|other than|different from|(?:not |un)equal to|instead of|rather than|unlike|(?:any|every|all)(?:thing)?\b[^.,;\n]{0,20} but)\s*$/i,
  /\b(?:between|from|either|neither|(?:sum|product|difference|quotient|average|mean|ratio|larger|smaller|gcd|lcm|maximum|minimum) of)\s[^.\n]{1,30}\s(?:and|to|x?or|nor)\s*$/i,
  /\b(?:(?:divisible|divided|multiplied) by|(?:up|down) from|(?:number|integer|one|value|digit|letter|prime|multiple|is|comes|right|just|immediately|directly) (?:after|before|following|preceding)|(?:half|quarter|third) an?)\s*$/i,
  new RegExp(
    String.raw`(?:\d|\b(?:${counts}))\s+(?:in|out of|of|per|for|by|x)(?: (?:every|each|the|all|an?))?\s*$`,
    'i',
  ),
  /(?<!\p{L})(?:sqrt|sin|cos|tan|cot|sec|csc|arc(?:sin|cos|tan)|log|ln|lg|exp|det|mod(?:ulo)?|gcd|lcm|abs|floor|ceil|infinity|choose|through|thru|point|vs\.?|or (?:maybe|perhaps|possibly))[\d₀-₉_{}]*\s*$/iu,
  endsInMagnitude,
  /\b(?:over|plus|minus|times|(?:divided|multiplied) by|(?:root|square|cube|factorial|power|log|logarithm) of|(?:square|cube) root)\s*$/i,
  /\b(?:twice|thrice|double|triple|quadruple|half|(?:halve|third|quarter|fourth|fifth|sixth|seventh|eighth|ninth|tenth|percent|multiple|divisor|reciprocal|inverse|opposite|(?<!by an? )factor|negative|the (?:sum|product|difference|quotient|average|mean|ratio|larger|smaller|gcd|lcm))s? of)(?: of)?\s*$/i,
  /%\s*of\s*$/,
  /(?:[不没無非]\p{sc=Han}{0,2}|[大小多少高低]于|超[过過]|至少|至多|最多|最少|介于|除了|第|或|分之|[加减減乘除])\s*$/u,
]

const before: readonly RegExp[] = [
  /[\p{L}\p{N})\]}]\s*[-+*/^×·÷]\s*$|[±∓]\s*$|\d\s*:\s*$|[\^_√]\{?$|\\(?!text|mathrm)[a-zA-Z]+\s*(?:\[[^\]]{1,9}\]\s*)?\{?$|\d\s*,\s*$/iu,
  /(?<![-=])[<>≤≥≠]=?\s*$|!(?:=\s*)?$/,
  // A function of the number, as f(8); a number beside another one.
  /[\p{L}\p{N}'}]\(\s*[-+]?\s*$|\}\s*\{$|(?![=+~≈→⇒⟹<>|≡∴])\p{Sm}\s*$|\d[ \t]+$/u,
  /(?:∞|\\infty|infinity|\binf)\s*(?:[,;]|to|and)\s*$/i,
  /\d\S*\s*(?:[,;]\s*(?:(?:and|or)\s)?|\band\s|\bor\s)\s*\p{L}\w{0,2}\s*=\s*$/u,
  /\bor\s+\p{L}\w{0,2}\s*=\s*$/u,
  /\d\s+(?:in|out of)\s*$/,
  /\d\s*,?\s*(?:with\s)?(?:an?\s)?(?:remainder|rem\.?|r)(?:\s+of)?\s*$/i,
]

/** The same in Chinese and Japanese, and the multipliers of their numbers, which are not read. */
const asianChange =
  /^\s*(?:[万萬亿億兆조千百십十倍半多余余餘或到至的次乘除加减減]|分之|以[上下内內]|未満|左右|不[是对對]|是[错錯]|では|じゃ)/u

/** Words that deny, bound or compute with the value before them. */
const changedAfter: readonly RegExp[] = [
  /^[^.,;\n\d]{0,20}\b(?:is|are|was|would be)(?:n['’]t\b|\s+(?:not|never|wrong|incorrect|false|impossible)\b)/i,
  /^\s*[-(]?\s*(?:squared|cubed|doubled|tripled|quadrupled|halved|inverted|reversed|factorial|ish|mod(?:ulo)?|choose|(?:in )?base|in (?:binary|octal|hex\w*)|(?:divided|multiplied) by|to the power|per\s?mill?e?|onwards?|to infinity)\b/i,
  /^\s*and (?:beyond|(?:an?|one|two|three)[- ](?:half|halve|third|quarter|fourth|fifth|tenth)s?)\b/i,
  /^\s*(?:over|plus|times|out of|of|per|for every|for|by|x|to the|point|through|thru)\s+(?:(?:every|each|the|all) )?(?:\d|pi\b|[b-hj-z]\b)/i,
  new RegExp(
    String.raw`^\s*(?:(?:out )?of (?:${counts})|in ten|(?:in|out of) an? ${large}|per ${large})\b`,
    'i',
  ),
  /^\s*(?:sin|cos|tan|log|ln|sqrt|exp|root)\b/i,
  /^\s*\(?(?:wrong|incorrect|false)\b|^\s*&\s*\p{L}/iu,
  /^\s*\?/,
  new RegExp(
    String.raw`^[^.,;\n\d(]{0,20}\b(?:(?:or|and)\s+(?:${comparative}|above|below|up|under|over)\b|at (?:the )?(?:most|least)\b|${comparative} than\s+(?:[-$€£]*\d|(?:one|two|three|four|five|six|seven|eight|nine|ten|twice|half)\b)|give or take\b)`,
    'i',
  ),
  // Letters that are factors: 8π, 8 pi, 8theta; μm and Ω are units.
  /^\s*(?!Ω|[μµ]\p{sc=Latin})\p{sc=Greek}(?!\p{sc=Greek})|^\s*(?:\\?pi|d[xyzt])(?!\p{L})|^(?:alpha|beta|gamma|delta|theta|lambda|sigma|omega|phi|tau)(?!\p{L})/u,
  asianChange,
]

const after: readonly RegExp[] = [
  /^\s*(?:[,;]|to|and)\s*\+?\s*(?:∞|\\infty|infinity|inf\b)|^\s*(?![=|~≈→⇒])\p{Sm}/iu,
  /^\(|^\s*(?:[+*×·÷^/√<>≤≥≠±∓]|\(\s*(?:[-\d\\]|\p{L}\s*[-+*/^)\d])|-\s*(?:[\d(\\]|\p{L}(?!\p{L}))|\\(?!%|\$|\\|\)|\]|[,;!]|text|mathrm|quad|right|end)|!\s*[/*+-]|:\d|,\d|\.{1,3}\s?\d|\]\s*\{|\[\p{L}\]|\|\p{L}\||\{\s*(?:\\|\p{L}\s*\}))/u,
  /^[^.\n\d]{0,20}\bx?n?or\b[^.\n\d]{0,12}\d/i,
  /^[^.\n\d]{0,12}(?:[,;]|\band\b)\s*\p{L}\w{0,2}\s*=/u,
  /^\s*,?\s*(?:with\s)?(?:an?\s)?(?:remainder\b|rem\b|r\s*\d)/i,
  /^[^.,;\n\d]{0,20}\bbelow (?:zero\b|0)/i,
]

/** Words and brackets on both sides, for the first of several values: “sum of 8 and 3”, (8, 9). */
const around: readonly (readonly [left: RegExp, right: RegExp])[] = [
  [
    /\b(?:sum|product|difference|quotient|average|mean|ratio|larger|smaller|gcd|lcm|maximum|minimum) of\s*$/i,
    /^[^.\n\d]{0,24}(?:,|\band\b)\s*\d/i,
  ],
  [/[([]\s*[-+]?\s*$/, /^\s*[,;][^()[\]]*[)\]]/],
]

const partBefore = /\d\s*([^\d\s,;=]+)\s*(to|,|,?\s*and)?\s*$/
const partBehind = /^\s*([^\d\s,;=]*)\s*(to|,|,?\s*and)?\s*-?\d[\d.]*(.*)$/s

/** Text that may separate a value from the words beside it: braces, and the marks around a formula. */
const opening = /(?:[\s{}$~]|\\[([])+$/
const closing = /^(?:[}$~]|\\[)\]])+/

/** Returns true if words beside a value deny it, bound it or compute with it. */
export const isChanged = (left: string, right: string): boolean =>
  changedBefore.some((pattern) => pattern.test(left.replace(opening, ''))) ||
  changedAfter.some((pattern) => pattern.test(right.replace(closing, '')))

/** Returns true if a number stands for itself between `left` and `right`. */
export const isBare = (left: string, right: string): boolean =>
  !isChanged(left, right) &&
  !before.some((pattern) => pattern.test(left)) &&
  !after.some((pattern) => pattern.test(right)) &&
  !around.some(([start, end]) => start.test(left) && end.test(right)) &&
  !isFactor(right) &&
  !isPart(left, right)

/** Endings of ordinals, and units that are compared as words. */
const abbreviation =
  /^(?:st|nd|rd|th|pts?|pcs?|rpm|bpm|fps|px|dB|k?Wh|mAh|sqm|sqft|gms?|cc|tsp|mcg|pp[mb]|atm|bar|psi|hp|kn)$/i

/** 2x is no number, 2m is one, and a letter that is a word counts something. */
function isFactor(behind: string): boolean {
  if (isUnspaced(behind.trimStart().charAt(0))) return false
  const letters =
    /^[\p{Lu}\p{Ll}_]{1,3}(?![\p{L}_])|^\s+[\p{Lu}\p{Ll}](?=\s*(?:[-+*/^=]|$))/u.exec(behind)?.[0] ?? ''
  return letters !== '' && unitBehind(letters) === null && !abbreviation.test(letters)
}

/** 6 in 5 feet 6 inches, 10 in 5 cm to 10 cm. */
function isPart(left: string, right: string): boolean {
  if (/\d\s*(?:[°'′]|to\s)\s*$/.test(left) || /^\s*(?:[°'′]|to\s)\s*\d/.test(right)) return true
  const [, first = '', join] = partBefore.exec(left) ?? []
  if (isTogether(first, join, right)) return true
  const [, own = '', next, other = ''] = partBehind.exec(right) ?? []
  return isTogether(own, next, other)
}

/**
 * Returns true if two quantities side by side are one; with “and” or a comma between, only those in different units.
 */
function isTogether(name: string, join: string | undefined, behind: string): boolean {
  const unit = unitOf(name)
  if (unit === null) return false
  if (join === undefined || join === 'to') return true
  const other = readUnit(behind)?.unit
  if (other === undefined) return false
  const factor = conversion(unit, other)
  return factor === null || !isSame(factor, { above: 1n, below: 1n })
}
