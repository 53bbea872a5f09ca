/** Reads magnitudes behind numbers: “3 million”, “$70K”, “8 тыс.” and “5万” are written with all of their digits. */
import { decimal, isWhole, powerOfTen, product, sum, whole, type Rational } from './rational.ts'

/** Factors, and patterns of the words for them. */
const names: readonly (readonly [factor: Rational, pattern: string])[] = [
  [whole(10n), 'decenas?|dizaines?|десятк(?:а|ов)'],
  [whole(12n), 'dozens?|dutzend|docenas?|douzaines?'],
  [powerOfTen(2), 'hundreds?|hundert|cientos|centaines?|сот(?:ен|ни)|yüz'],
  [
    powerOfTen(3),
    'thousands?|grand(?![ -]\\p{L})|tusen|tisíc|tausend|tsd|mille|mila|duizend|tys(?:i[ąę]c[ey]?)?|тыс(?:яч[аи]?)?|ezer|tuhat|nghìn|χιλιάδες|ألف|हज़ार',
  ],
  [powerOfTen(5), 'lakhs?|lacs?|लाख'],
  [
    powerOfTen(6),
    'millions?|ml?n|mio|mil|millionen|mill[oó]n(?:es)?|mili[oó]n(?:[eiyů]|ów)?|milh(?:ão|ões)|miljoen|milyon|miljoner|millioner|millió|mill|triệu|εκατομμύρια|مليون|млн|миллион(?:а|ов)?',
  ],
  [powerOfTen(7), 'crores?|करोड़'],
  [
    powerOfTen(9),
    'billions?|bl?n|bil|mia(?![ -]\\p{L})|mdr|mlrd|miljarder|milliarder|tỷ|milliarden?|milliards?|mrd|mld|miliard(?:[oiy]|ów)?|miljard|milyar|bilh(?:ão|ões)|млрд|миллиард(?:а|ов)?',
  ],
  [powerOfTen(12), 'trillions?|tr?n|tril|bio(?![ -]\\p{L})|billionen|billones|трлн|триллион(?:а|ов)?'],
]
const word = names.map(([, pattern]) => pattern).join('|')
const begins = (pattern: string): RegExp => new RegExp(`^\\s*(?:${pattern})(?!\\p{L})`, 'iu')
const known = names.map(([factor, pattern]) => [factor, begins(pattern)] as const)

/** Signs right behind a number, whatever follows; 千 of 千克 and 千米 is part of a unit. */
const signs: Readonly<Record<string, Rational>> = {
  百: powerOfTen(2),
  백: powerOfTen(2),
  千: powerOfTen(3),
  천: powerOfTen(3),
  万: powerOfTen(4),
  萬: powerOfTen(4),
  만: powerOfTen(4),
  亿: powerOfTen(8),
  億: powerOfTen(8),
  억: powerOfTen(8),
}
/** Letters behind a number, which say this with certainty only of an amount of money. */
const letters: Readonly<Record<string, Rational>> = {
  k: powerOfTen(3),
  m: powerOfTen(6),
  b: powerOfTen(9),
  t: powerOfTen(12),
}

const number = String.raw`((?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+)(?:[.,]\d+)?)`
const start = String.raw`(?<![\p{L}\p{N}_.,^/\\])`
const gap = String.raw`(?:[ \t~]|\\[,;: ])*`
const wrapper = String.raw`(\\(?:text(?:rm|bf)?|mathrm|mbox|rm)\s*\{(?:[\s~]|\\ )*)?`
const close = String.raw`(\s*\})?`
/** The dot of an abbreviation in the middle of a sentence. */
const dot = String.raw`(?:\.(?=[ \t]+[\p{Ll}€$£\d]))?`

const inWords = new RegExp(
  `${start}${number}${gap}-?${wrapper}(${word})(?![\\p{L}'’])${dot}${close}(?:[ \\t]+and[ \\t]+(\\d{1,3})(?![\\d.,/%]|${gap}(?:${word})))?`,
  'giu',
)
const inSigns = new RegExp(
  `${start}${number}()\\s?([${Object.keys(signs).join('')}])(?![克米瓦卡큼])()()`,
  'gu',
)
const suffix = String.raw`${gap}${wrapper}(mm|MM|[kKmMbBtT])(?![\p{L}\d'’^])${close}()`
const money = new RegExp(String.raw`(?<=(?:[$€£¥₹]|\bRs\.?|\b(?:USD|EUR|GBP))[ \t]*)${number}${suffix}`, 'gu')
const counted = new RegExp(
  String.raw`${start}${number}${suffix}(?=\s*\}?[\s~]+(?:dollars?|euros?|pounds|bucks|rupees|yen|USD|EUR|GBP)\b)`,
  'gu',
)
/** Dollars around mathematics: $2m$ is no money. */
const formula = /(?<![\\$\d])\$(?=\S)[^$\n]{1,400}?(?<=[^\s\\])\$(?![\d$])/g

/** The text with the magnitudes behind its numbers multiplied out. */
export function withMagnitudes(text: string): string {
  if (!/\d/.test(text)) return text
  const opened = new Set([...text.matchAll(formula)].map(({ index }) => index))
  const paid = text.replace(money, (all: string, ...found: unknown[]) => {
    const at = found.at(-2) as number
    return opened.has(text.slice(0, at).trimEnd().length - 1) ? all : multiplied(all, found as string[])
  })
  let read = paid.replace(counted, (all, ...found: string[]) => multiplied(all, found))
  // “2 hundred thousand”, “5 百万”.
  for (let i = 0; i < 3; i++)
    for (const pattern of [inWords, inSigns])
      read = read.replace(pattern, (all, ...found: string[]) => multiplied(all, found))
  return marks.reduce((changed, [pattern, as]) => changed.replace(pattern, as), read)
}

/** One spelling for parts of thousands, ordinals and letters that may be a unit as well as a magnitude. */
const marks: readonly (readonly [RegExp, string])[] = [
  [/(?<=\d)\s*per ?mill?e?\b/gi, '‰'],
  [/(?<=\d)\s*(?:bps|bp|basis points?)\b/gi, '‱'],
  [/(?<=\d)\s*\^\s*\{\s*(\\(?:text|mathrm)\s*\{\s*(?:st|nd|rd|th)\s*\})\s*\}/g, '$1'],
  [/(?<=\d)\s*\^?\s*\\(?:text|mathrm)\s*\{\s*(st|nd|rd|th)\s*\}/g, '$1'],
  [/(?<=\d)\\text\s*\{([kKMBT])\}/g, '$1'],
]

function multiplied(all: string, [digits = '', opening = '', name = '', ...behind]: string[]): string {
  const factor = factorOf(name)
  if (factor === null) return all
  const [closing = '', more = '0'] = behind
  const written = writtenOut(sum(product(amountOf(digits), factor), whole(BigInt(more))))
  if (opening === '') return `${written}${closing}`
  return closing === '' ? `${written}${opening.trimEnd()} ` : written
}

/** 1,500 has a group of three digits, 1,5 a decimal comma. */
const amountOf = (digits: string): Rational =>
  decimal(/,\d{3}(?!\d)/.test(digits) ? digits.replaceAll(',', '') : digits.replace(',', '.'))

/** MN are meganewtons. */
const factorOf = (name: string): Rational | null =>
  signs[name] ??
  (name === 'MN' ? null : known.find(([, pattern]) => pattern.test(name))?.[0]) ??
  letters[name.charAt(0).toLowerCase()] ??
  null

/** A number whose denominator has no factors but 2 and 5, with a decimal point. */
function writtenOut(value: Rational): string {
  let places = 0
  while (!isWhole(product(value, powerOfTen(places)))) places++
  const digits = String(product(value, powerOfTen(places)).above).padStart(places + 1, '0')
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`
}

const parts: readonly (readonly [factor: Rational, pattern: RegExp])[] = [
  ...'hal(?:f|ves?) third (?:fourth|quarter) fifth sixth seventh eighth ninth tenth'
    .split(' ')
    .map((name, i) => [{ above: 1n, below: BigInt(i + 2) }, begins(`${name}s?`)] as const),
  [powerOfTen(-2), begins('hundredths?')],
  [powerOfTen(-3), begins('thousandths?')],
  [powerOfTen(-6), begins('millionths?')],
  [whole(10n), begins('tens?')],
  [whole(20n), begins('scores?')],
]

/** Splits the words behind a number into a factor, 1 for most, and the rest. */
export function multiplierOf(words: string): { readonly factor: Rational; readonly rest: string } {
  const [factor, pattern] = [...parts, ...known].find(([, begin]) => begin.test(words)) ?? [whole(1n), null]
  return { factor, rest: pattern === null ? words : words.replace(pattern, '') }
}

/** The end of a text that ends in a magnitude, as in “one hundred and”: what stands behind belongs to it. */
export const endsInMagnitude = new RegExp(`(?<!\\p{L})(?:${word})(?:[ \\t]+and)?[ \\t]*$`, 'iu')

/** The power of ten that a letter right behind a number may stand for, as K does beside kelvin; null for others. */
export function suffixOf(behind: string): Rational | null {
  const letter = /^[kKMBT](?![\p{L}\d_^'’])/u.exec(behind)?.[0]
  return letter === undefined ? null : letters[letter.toLowerCase()]!
}
