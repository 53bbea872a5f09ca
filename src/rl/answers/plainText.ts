/** One spelling for characters that mean the same: minus signs, full-width digits, fractions of one character. */

const minusSigns = /[\u2010-\u2013\u2212\u2796\ufe63\uff0d]/g
const fullWidth = /[\uff01-\uff5e]/g
const vulgarFractions = /(\d?)([\u00bc-\u00be\u2150-\u215e])/g
const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/** Raised digits after a 10 are an exponent; after a unit they stay, since m² is a unit. */
const raisedExponent = /(?<=10)(⁻?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g

const digitsOf = (raised: string): string => [...raised].map((digit) => superscripts.indexOf(digit)).join('')

/** Bold marks of Markdown; `2**3` is a power. */
const bold = /(?<![\w)])\*\*(?=\S)([^*\n]{1,200}?)\*\*(?![\w(])/g

/** Digits in groups of three that are held apart by something that is no comma. */
const grouped =
  /(?<![\d.,])\d{1,3}(?:(?:[\u00a0\u202f\u2009'’_]|\{,\}|\\[,!]|\\ |,\\!\s?|\s?\{\s?,\s?\}\s?)\d{3})+(?!\d)/g

export const plainCharacters = (text: string): string =>
  text
    .replace(fullWidth, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
    .replace(minusSigns, '-')
    .replace(
      vulgarFractions,
      (_, digit: string, one: string) => `${digit && `${digit} `}${one.normalize('NFKC').replace('⁄', '/')}`,
    )
    .replace(raisedExponent, (_, minus: string, digits: string) => `^{${minus && '-'}${digitsOf(digits)}}`)
    .replace(bold, '$1')
    .replace(grouped, (number) => number.replace(/[^\d]+/g, ','))
    .replace(/[\u00a0\u202f\u2009\u3000]/g, ' ')
