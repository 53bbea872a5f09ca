/** Writes quantities that are partly in words with digits: “3 and a half” is 3 1/2, “1 in 4” is 1/4. */

const below: Readonly<Record<string, number>> = {
  half: 2,
  halves: 2,
  third: 3,
  quarter: 4,
  fourth: 4,
  fifth: 5,
  tenth: 10,
}
const above: Readonly<Record<string, number>> = { a: 1, an: 1, one: 1, two: 2, three: 3 }
const part = String.raw`and\s+(an?|one|two|three)[\s-](half|halves|third|quarter|fourth|fifth|tenth)s?(?!\p{L})`
/** “One hundred and three quarters” is 100¾. */
const thing = String.raw`(?!(?:hundred|thousand)\b)\p{L}+`
const counted = new RegExp(String.raw`(?<![\d.,/^\p{L}])(\d+)((?:\s+${thing})?)\s+${part}`, 'giu')
const single = new RegExp(String.raw`(?<!\p{L})(?:an?|one)(\s+${thing})\s+${part}`, 'giu')
const measured =
  /(?<!\p{L})(?:an?|one)\s+(?=(?:hour|minute|day|week|month|year|foot|yard|mile|pound|dollar|euro|gallon|quart|met(?:er|re)|kilomet(?:er|re)|kilogram|kilo|lit(?:er|re))(?:,?\s+and|,)?\s+\d)/giu

/** The text with “3 and a half hours” as 3 1/2 hours and “an hour and 30 minutes” as 1 hour and 30 minutes. */
export const withCompounds = (text: string): string =>
  text
    .replace(counted, (_, ...found: string[]) => mixed(found))
    .replace(single, (_, ...found: string[]) => mixed(['1', ...found]))
    .replace(measured, '1 ')

const mixed = ([whole, unit, count = '', name = '']: readonly string[]): string =>
  `${whole} ${above[count.toLowerCase()]}/${below[name.toLowerCase()]}${unit}`

const share =
  /^(?:an? |the )?([\p{L}\d-]{1,20}(?: \p{L}+)??) (?:in|of|out of)(?: (?:every|each|the|all))? ([\p{L}\d-]{1,20}(?: \p{L}+)?)$/iu

/** “1 in 4”, “three out of five” as fractions; null for others. `numeral` reads a whole number. */
export function shareIn(text: string, numeral: (words: string) => number | null): string | null {
  const [, part = '', all = ''] = share.exec(text) ?? []
  const [count, of] = [numeral(part), numeral(all)]
  return count === null || of === null || count > of ? null : `${count}/${of}`
}
