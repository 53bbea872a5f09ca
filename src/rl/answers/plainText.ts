/** One spelling for characters that mean the same: minus signs, full-width digits, fractions of one character. */

const minusSigns = /[\u2010-\u2013\u2212\u2796\ufe63\uff0d]/g
/** Arabic and Persian digits. */
const easternDigits = /[\u0660-\u0669\u06f0-\u06f9]/g
const fullWidth = /[\uff01-\uff5e]/g
const vulgarFractions = /(\d?)([\u00bc-\u00be\u2150-\u215e])/g
const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/** Raised digits after a number or bracket are an exponent; after a unit they stay, since m² is a unit. */
const raisedExponent = /(?<=[\d)\]}])(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g
const raisedLetter = /(?<=\p{L})(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/gu

/** x² as x^{2}; behind a unit, too. */
export const withExponents = (text: string): string =>
  text.replace(raisedLetter, (_, minus: string, digits: string) => `^{${minus && '-'}${digitsOf(digits)}}`)

const digitsOf = (raised: string): string => [...raised].map((digit) => superscripts.indexOf(digit)).join('')

/** Bold marks of Markdown; `2**3` is a power. */
const bold = /(?<![\w)])\*\*(?=\S)([^*\n]{1,200}?)\*\*(?![\w(])/g

/** Digits in groups of three that are held apart by something that is no comma. */
const grouped =
  /(?<![\d.,])\d{1,3}(?:(?:[\u00a0\u202f\u2009'’_]|\{,\}|\\[,!]|\\ |,\\!\s?|\s?\{\s?,\s?\}\s?)\d{3})+(?!\d)/g

/** Italics and bold marks of Markdown around an answer; 2 * 3 and a_b are none. */
const emphasis = /(?<![\w)*}\\])(\*|__)(?=[\w$\\(-])([^*_\n]{1,80}?)(?<=\S)\1(?![\w(*])/g

/* Decimals whose digits recur: 0.1\overline{6}, 0.\dot{1}42\dot{7}, 0.1(6) and 0.1666… become 0.16̅. */

const overlined = /(\d\.\d{0,40})\s*\\(?:overline|bar|dot)\s*(\{\s*\d{1,40}\s*\}|\d)/g
const dotted = /(\d\.\d{0,40})(\\dot\s*\{?\d\}?\d{0,40}\\dot\s*\{?\d\}?)/g
const bracketed =
  /(?<![\w.,)\]}]|[-+*/^×·]\s)(\d{1,20}\.\d{0,20})\((\d{1,20})\)(?!\s*[-+*/^×·=(\d\p{L}]|\s*\\(?:cdot|times|frac|sqrt))/gu
const continued =
  /(?<![\d.,])(\d{1,20}\.\d{0,20}?)((\d)\3{2,20}|(\d{2,20})\4{1,10})\s*(?:\.{3,4}|…|\\[lc]?dots(?![a-zA-Z]))/g

const lined = (digits: string): string => digits.replaceAll(/\d/g, '$&\u0305')

const withRecurring = (text: string): string =>
  text
    .replace(dotted, (_, fixed: string, block: string) => fixed + lined(block.replaceAll(/\D/g, '')))
    .replace(overlined, (_, fixed: string, block: string) => fixed + lined(block.replaceAll(/\D/g, '')))
    .replace(bracketed, (_, fixed: string, block: string) => fixed + lined(block))
    .replace(continued, (_, fixed: string, block: string) => fixed + lined(recurringBlock(block)))
    .replace(/(?<=\d)[\u0304\u0307]/g, '\u0305')

/** 12 of 1212. */
const recurringBlock = (digits: string): string => digits.replace(/^(\d+?)\1+$/, '$1')

/** A calculation that GSM8K's solutions repeat before its result. */
const calculation = /<<[^<>\n]{1,200}=[^<>\n]{1,60}>>/g

/** White space so long that searching it for the parts of a number would take minutes. */
const longSpace = /\s{9,}/g

/** Letters of scripts that put no spaces between words. */
const unspaced = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]`
const besideLetters = new RegExp(
  String.raw`(?<=${unspaced})(?=[-+]?[$€£¥\\\d])|(?<=[\d%$)}\]])(?=${unspaced})`,
  'gu',
)

/** Returns true if a text holds letters of a script that is written without spaces. */
export const isUnspaced = (text: string): boolean => new RegExp(unspaced, 'u').test(text)

/** Spaces between numbers and such letters, as between words elsewhere, and their full stop. */
const withSpaces = (text: string): string =>
  isUnspaced(text) ? text.replaceAll('。', '. ').replaceAll('、', ', ').replace(besideLetters, ' ') : text

export const plainCharacters = (text: string): string => withSpaces(oneSpelling(text))

const oneSpelling = (text: string): string =>
  withRecurring(
    text.replace(longSpace, (run) => (run.includes('\n') ? '\n\n' : '  ')).replace(calculation, ''),
  )
    .replace(fullWidth, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
    .replace(easternDigits, (digit) => String(digit.charCodeAt(0) & 15))
    .replaceAll('\u066b', '.')
    .replace(minusSigns, '-')
    .replace(
      vulgarFractions,
      (_, digit: string, one: string) => `${digit && `${digit} `}${one.normalize('NFKC').replace('⁄', '/')}`,
    )
    .replace(raisedExponent, (_, minus: string, digits: string) => `^{${minus && '-'}${digitsOf(digits)}}`)
    .replace(bold, '$1')
    .replace(emphasis, '$2')
    .replace(grouped, (number) => number.replace(/[^\d]+/g, ','))
    .replace(/[\u00a0\u202f\u2009\u3000]/g, ' ')
