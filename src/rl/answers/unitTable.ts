/** Lists the known units, with their dimensions and their size in base units. */
import { fraction, powerOfTen, product, whole, type Rational } from './rational.ts'

/** A unit of measurement. Quantities of the same dimensions are compared in base units. */
export interface Unit {
  /** Base units with their exponents, in one order. */
  readonly dimensions: Readonly<Record<string, number>>
  /** Base units in one of this. */
  readonly factor: Rational
  /** Other unit of the same name. */
  readonly alsoMeans?: Unit
  /** Value of one of it beside a number without a unit; 1 where it is left out. */
  readonly inBare?: Rational
}

type Row = readonly [names: string, dimensions: string, above?: bigint, below?: bigint]

/** Names of words with spaces between are spellings of one unit; `m:2 s:-1` are m²/s. */
const rows: readonly Row[] = [
  ['m meter metre', 'm'],
  ['in inch inches', 'm', 254n, 10_000n],
  ['ft foot feet', 'm', 3048n, 10_000n],
  ['yd yard', 'm', 9144n, 10_000n],
  ['mi mile', 'm', 1_609_344n, 1000n],
  ['g gram gramme', 'g'],
  ['tonne', 'g', 1_000_000n],
  ['lb pound lbs', 'g', 45_359_237n, 100_000n],
  ['oz ounce', 'g', 45_359_237n, 1_600_000n],
  ['l liter litre L', 'm:3', 1n, 1000n],
  ['s sec second', 's'],
  ['min minute', 's', 60n],
  ['h hr hour', 's', 3600n],
  ['day', 's', 86_400n],
  ['week', 's', 604_800n],
  ['month', 'month'],
  ['year yr', 'month', 12n],
  ['ha hectare', 'm:2', 10_000n],
  ['acre', 'm:2', 40_468_564_224n, 10_000_000n],
  ['mph', 'm:1 s:-1', 1_609_344n, 3_600_000n],
  ['kph kmh', 'm:1 s:-1', 1000n, 3600n],
  ['N newton', 'g:1 m:1 s:-2', 1000n],
  ['J joule', 'g:1 m:2 s:-2', 1000n],
  ['W watt', 'g:1 m:2 s:-3', 1000n],
  ['Pa pascal', 'g:1 m:-1 s:-2', 1000n],
  ['V volt', 'A:-1 g:1 m:2 s:-3', 1000n],
  ['Ω ohm', 'A:-2 g:1 m:2 s:-3', 1000n],
  ['A amp ampere', 'A'],
  ['K kelvin', 'K'],
  ['Hz hertz', 's:-1'],
  ['mol mole', 'mol'],
  ['gallon gal', 'gallon'],
  ['quart qt', 'gallon', 1n, 4n],
  ['pint', 'gallon', 1n, 8n],
  // Not converted into one another: rates change, temperatures have zeros of their own, a megabyte is 10⁶ or 2²⁰ bytes.
  ...['$ dollar USD', '€ euro EUR', '£ GBP', '¥ yen JPY', '₹ rupee INR'].map((names): Row => [
    names,
    names.split(' ')[0]!,
  ]),
  ['¢ cent', '$', 1n, 100n],
  ...['°C celsius', '°F fahrenheit', '° degree deg', 'rad radian', 'eV', 'cal calorie', 'kcal'].map(
    (names): Row => [names, names.split(' ')[0]!],
  ),
  ...['bit', 'byte', 'KB kB kilobyte', 'MB megabyte', 'GB gigabyte', 'TB terabyte', 'ton'].map(
    (names): Row => [names, names.split(' ')[0]!],
  ),
  ...['Kb kbit kilobit', 'Mb Mbit megabit', 'Gb Gbit gigabit', 'Tb Tbit terabit'].map((names): Row => [
    names,
    names.split(' ')[0]!,
  ]),
  ...['Kb', 'Mb', 'Gb', 'KB', 'MB', 'GB'].map((name): Row => [`${name}ps`, `${name}:1 s:-1`]),
]

const prefixes: readonly (readonly [symbol: string, word: string, exponent: number])[] = [
  ...([
    ['G', 'giga', 9],
    ['M', 'mega', 6],
    ['k', 'kilo', 3],
    ['d', 'deci', -1],
    ['c', 'centi', -2],
    ['m', 'milli', -3],
    ['μ', 'micro', -6],
    ['n', 'nano', -9],
  ] as const),
]
const prefixed = new Set(['m', 'g', 'l', 's', 'N', 'J', 'W', 'Pa', 'V', 'Ω', 'A', 'Hz', 'mol'])
/**
 * Prefixes accepted for lengths and the like, only those that people write: ds would be two variables, Gg a typing
 * error.
 */
const smallOnly: Readonly<Record<string, RegExp>> = { m: /[kdcmμn]/, g: /[kcmμn]/, l: /[dcmμ]/, s: /[mμn]/ }

const dimensionsOf = (text: string): Record<string, number> =>
  Object.fromEntries(
    text.split(' ').map((part) => {
      const [base = '', exponent = '1'] = part.split(':')
      return [base, Number(exponent)]
    }),
  )

function unitsOf([names, dimensions, above = 1n, below = 1n]: Row): [string, Unit][] {
  const [symbol = '', ...others] = names.split(' ')
  const unit: Unit = { dimensions: dimensionsOf(dimensions), factor: fraction(above, below)! }
  const own = [symbol, ...others].map((name): [string, Unit] => [name, unit])
  if (!prefixed.has(symbol)) return own
  const multiples = prefixes.filter(([prefix]) => smallOnly[symbol]?.test(prefix) ?? /[GMkmμ]/.test(prefix))
  return [
    ...own,
    ...multiples.flatMap(([prefix, word, exponent]) => {
      const multiple = { ...unit, factor: product(unit.factor, powerOfTen(exponent)) }
      return [symbol, ...others].map((name): [string, Unit] => [
        `${name.length > 2 && name !== 'mol' ? word : prefix}${name}`,
        multiple,
      ])
    }),
  ]
}

const byName = new Map<string, Unit>(rows.flatMap(unitsOf))
byName.set('pound', { ...byName.get('pound')!, alsoMeans: byName.get('£')! })
byName.set('‰', { ...ownUnit('‰'), inBare: powerOfTen(-3) })
byName.set('‱', { ...ownUnit('‱'), inBare: powerOfTen(-4) })

/** Symbols of one letter mean something else as a capital; longer ones are written as people like. */
export function namedUnit(name: string): Unit | null {
  const plain = name.replace('µ', 'μ')
  const singular = plain.length > 2 ? plain.replace(/s$/, '') : plain
  const spellings = [plain, singular]
  if (plain.length > 1) spellings.push(plain.toLowerCase(), singular.toLowerCase())
  return spellings.map((spelling) => byName.get(spelling)).find((unit) => unit !== undefined) ?? null
}

/** A unit that is not known: equal only to itself. */
export function ownUnit(name: string): Unit {
  return { dimensions: { [name]: 1 }, factor: whole(1n) }
}
