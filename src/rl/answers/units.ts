/** Units that are told apart: what is measured in different ones is not compared by its number alone. */

const spellings = [
  ['mm', 'millimeter', 'millimetre'],
  ['cm', 'centimeter', 'centimetre'],
  ['m', 'meter', 'metre'],
  ['km', 'kilometer', 'kilometre'],
  ['in', 'inch', 'inches'],
  ['ft', 'foot', 'feet'],
  ['yd', 'yard'],
  ['mi', 'mile'],
  ['mg', 'milligram'],
  ['g', 'gram'],
  ['kg', 'kilogram'],
  ['lb', 'pound', 'lbs'],
  ['oz', 'ounce'],
  ['ml', 'milliliter', 'millilitre', 'mL'],
  ['l', 'liter', 'litre', 'L'],
  ['s', 'sec', 'second'],
  ['min', 'minute'],
  ['h', 'hr', 'hour'],
  ['day'],
  ['week'],
  ['month'],
  ['year'],
  ['$', 'dollar', 'USD'],
  ['€', 'euro', 'EUR'],
  ['£', 'GBP'],
  ['¥', 'yen', 'JPY'],
  ['₹', 'rupee', 'INR'],
  ['¢', 'cent'],
  ['°C'],
  ['°F'],
  ['°', 'degree', 'deg'],
  ['N'],
  ['J'],
  ['W'],
  ['V'],
  ['A'],
  ['K'],
  ['Hz'],
  ['Pa'],
] as const

const byName = new Map<string, string>(
  spellings.flatMap(([name, ...others]) => [name, ...others].map((each) => [each, name])),
)

/** The unit that the words behind or before a number begin with, raised digits included; null for none of the known. */
export function unitOf(words: string): string | null {
  const [, first = '', raised = ''] = /^\s*([\p{L}°]+|[$€£¥₹¢])(\S*)/u.exec(words) ?? []
  const name =
    byName.get(first) ??
    byName.get(first.replace(/s$/, '')) ??
    byName.get(first.toLowerCase().replace(/s$/, ''))
  return name === undefined
    ? null
    : `${name}${raised
        .replace(/^\^\{?(\d)\}?$/, '$1')
        .replace('²', '2')
        .replace('³', '3')}`
}

/** Words that multiply the number before them; null: by an unknown amount. */
export function multiplierOf(words: string): { readonly factor: bigint; readonly rest: string } | null {
  const [whole = '', word = ''] =
    /^\s*(hundred|thousand|million|billion|trillion|dozen|score)s?\b/i.exec(words) ?? []
  const factors: Readonly<Record<string, bigint>> = {
    ...{
      '': 1n,
      hundred: 100n,
      thousand: 1000n,
      million: 10n ** 6n,
      billion: 10n ** 9n,
      trillion: 10n ** 12n,
    },
    ...{ dozen: 12n, score: 20n },
  }
  const factor = factors[word.toLowerCase()]
  return factor === undefined ? null : { factor, rest: words.slice(whole.length) }
}
