/** Pairs that are equal by construction, and pairs made unequal by one digit, sign or operator: none of those is ever paid. */
import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { builtInReward } from '#rl/environments/registry.ts'
import { casesOf } from '../../sweeps.ts'

const random = new SequentialRandom(randomStream(20, 26))
const below = (limit: number) => Math.floor(random.uniform() * limit)
const pick = <T>(from: readonly T[]): T => from[below(from.length)]!
const digits = (length: number) =>
  `${1 + below(9)}${Array.from({ length: length - 1 }, () => below(10)).join('')}`
const commas = (whole: string) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',')

interface Pair {
  readonly answer: string
  readonly same: string
  readonly other: string
}

/** Another digit in one place; the first stays above 0. */
function altered(text: string): string {
  const places = [...text].flatMap((character, i) => (/\d/.test(character) ? [i] : []))
  const at = pick(places)
  const digit = (Number(text[at]) + 1 + below(8)) % 10
  return `${text.slice(0, at)}${at === places[0] && digit === 0 ? 9 - Number(text[at] === '9') : digit}${text.slice(at + 1)}`
}

const wordings = [
  (text: string) => text,
  (text: string) => `The answer is ${text}.`,
  (text: string) => `First 3 + 4 = 7, and then \\boxed{${text}}.`,
  (text: string) => `<think>It could be 5.</think>\n<answer>${text}</answer>`,
]

const small =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  )
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ')

/** A number below a million in English, by the rule that its digits are said one after the other. */
function inWords(value: number): string {
  if (value < 20) return small[value]!
  const joined = (head: string, rest: number, by: string) =>
    rest === 0 ? head : `${head}${by}${inWords(rest)}`
  if (value < 100) return joined(tens[Math.floor(value / 10) - 2]!, value % 10, pick(['-', ' ']))
  if (value < 1000)
    return joined(`${small[Math.floor(value / 100)]!} hundred`, value % 100, pick([' and ', ' ']))
  const rest = value % 1000
  return joined(`${inWords(Math.floor(value / 1000))} thousand`, rest, rest < 100 ? ' and ' : ' ')
}

/** Unit, how many of it are `per` of the larger one, and spellings. */
const measures = [
  ['cm', 100, 'm', ['cm', 'centimeters', '\\text{cm}', '\\mathrm{~cm}', 'centimetres']],
  ['g', 1000, 'kg', ['grams', '\\text{ g}', '\\mathrm{g}']],
  ['min', 60, 'hours', ['minutes', '\\text{min}', 'min']],
  ['cm^2', 10_000, 'm^2', ['cm²', '\\text{cm}^2', 'square centimeters', '\\mathrm{~cm}^{2}']],
  ['mL', 1000, 'L', ['ml', 'milliliters', 'cm^3']],
  ['m/h', 1000, 'km/h', ['m/h', 'meters per hour', '\\frac{\\text{m}}{\\text{h}}', '\\mathrm{m\\,h^{-1}}']],
] as const

const makers: Readonly<Record<string, () => Pair>> = {
  whole() {
    const number = digits(1 + below(40))
    return {
      answer: number,
      same: pick([number, commas(number), `+${number}`, `${number}.0`]),
      other: altered(number),
    }
  },
  'sign of a whole number'() {
    const number = digits(1 + below(20))
    return { answer: `-${number}`, same: pick(['−', '–', '-']) + number, other: number }
  },
  decimal() {
    const [before, after] = [digits(1 + below(12)), digits(1 + below(8))]
    const text = `${before}.${after}`
    return {
      answer: text,
      same: pick([text, `${text}0`, `${commas(before)}.${after}`, `$${text}`]),
      other: altered(text),
    }
  },
  fraction() {
    const [above, under, factor] = [1 + below(400), 2 + below(400), 2 + below(9)]
    const same = pick([
      `${above * factor}/${under * factor}`,
      `\\frac{${above}}{${under}}`,
      `\\dfrac{${above * factor}}{${under * factor}}`,
    ])
    return {
      answer: `${above}/${under}`,
      same,
      other: pick([`${above + 1}/${under}`, `${above}/${under + 1}`, `-${above}/${under}`]),
    }
  },
  percentage() {
    const share = 2 + below(98)
    return {
      answer: `${share}%`,
      same: pick([`${share} percent`, `${share}\\%`, String(share / 100), String(share)]),
      other: `${share + 1}%`,
    }
  },
  unit() {
    const [unit, factor, larger, spellings] = pick(measures)
    const value = 2 + below(5000)
    const others = [`${value} ${larger}`, `${value + 1} ${unit}`, `${value} A`, `${value} °C`]
    return {
      answer: `${value} ${unit}`,
      same: pick([
        String(value),
        `${value} ${pick(spellings)}`,
        `${Number((value / factor).toFixed(12))} ${larger}`,
      ]),
      other: pick(others),
    }
  },
  'unit left out by the answer'() {
    const [value, [, , , spellings]] = [digits(1 + below(5)), pick(measures)]
    const unit = pick(spellings)
    return { answer: value, same: `${value} ${unit}`, other: `${altered(value)} ${unit}` }
  },
  'number in words'() {
    const value = below(pick([20, 100, 1000, 1_000_000]))
    const sign = pick(['', 'minus ', 'negative '])
    return {
      answer: `${sign === '' ? '' : '-'}${value}`,
      same: `${sign}${inWords(value)}`,
      other: `${sign}${inWords(value + 1)}`,
    }
  },
  'share in words'() {
    const [above, [name, under]] = [
      2 + below(18),
      pick([
        ['thirds', 3],
        ['quarters', 4],
        ['fifths', 5],
        ['tenths', 10],
      ] as const),
    ]
    return {
      answer: `${above}/${under}`,
      same: `${inWords(above)} ${name}`,
      other: `${inWords(above + 1)} ${name}`,
    }
  },
  'recurring decimal'() {
    const [before, fixed, block] = [below(50), pick(['', digits(1 + below(3))]), digits(1 + below(4))]
    const scale = 10 ** fixed.length
    const nines = 10 ** block.length - 1
    const above = Number(`${before}${fixed}`) * nines + Number(block)
    const lined = [
      `\\overline{${block}}`,
      `(${block})`,
      `\\bar{${block}}`,
      `${block.repeat(3)}...`,
      `${block.repeat(4)}\\ldots`,
    ]
    return {
      answer: `${above}/${scale * nines}`,
      same: `${before}.${fixed}${pick(lined)}`,
      other: pick([
        `${before}.${fixed === '' ? '0' : fixed}`,
        `${before}.${fixed}\\overline{${altered(block)}}`,
        `${before + 1}.${fixed}(${block})`,
      ]),
    }
  },
  'decimal comma'() {
    const [before, after] = [digits(1 + below(3)), pick([digits(2), digits(1), digits(4)])]
    const [point, comma] = [`${before}.${after}`, `${before},${after}`]
    const [answer, same] = pick([
      [point, comma],
      [comma, comma],
      [comma, point],
    ] as const)
    return { answer, same, other: pick([altered(comma), altered(point), `${before}${after}`]) }
  },
  'end of a computation'() {
    const [a, b] = [1 + below(500), 1 + below(500)]
    return { answer: String(a + b), same: `${a} + ${b} = ${a + b}`, other: `${a + b} + ${a} = ${2 * a + b}` }
  },
  remark() {
    const value = digits(1 + below(4))
    const put = pick([
      (text: string) => `${text} (apples)`,
      (text: string) => `${text} apples`,
      (text: string) => `**${text}**`,
    ])
    return { answer: value, same: put(value), other: put(altered(value)) }
  },
  tuple() {
    const items = Array.from({ length: 2 + below(3) }, () => String(below(100)))
    const other = items.map((item, i) => (i === 0 ? String(Number(item) + 1) : item))
    return { answer: `(${items.join(', ')})`, same: `(${items.join(',')})`, other: `(${other.join(', ')})` }
  },
  time() {
    const [hour, minute] = [1 + below(11), 10 + below(49)]
    return { answer: `${hour}:${minute} PM`, same: `${hour + 12}:${minute}`, other: `${hour}:${minute} AM` }
  },
}

const expressions: Readonly<Record<string, () => Pair>> = {
  root() {
    const [outside, inside] = [2 + below(30), pick([2, 3, 5, 6, 7, 10, 11])]
    const same = `\\sqrt{${outside * outside * inside}}`
    return {
      answer: `${outside}\\sqrt{${inside}}`,
      same,
      other: pick([`${outside + 1}\\sqrt{${inside}}`, `-${same}`, `${outside}+\\sqrt{${inside}}`]),
    }
  },
  'unit of π'() {
    const [above, under] = [1 + below(20), 2 + below(20)]
    return {
      answer: `\\frac{${above}\\pi}{${under}}`,
      same: `${2 * above}\\pi/${2 * under}`,
      other: `\\frac{${above}\\pi}{${under + 1}}`,
    }
  },
  square() {
    const [a, b] = [1 + below(9), 1 + below(9)]
    const expanded = `${a * a}x^2 + ${2 * a * b}xy + ${b * b}y^2`
    return {
      answer: `(${a}x + ${b}y)^2`,
      same: expanded,
      other: pick([altered(expanded), expanded.replace('+', '-')]),
    }
  },
  quotient() {
    const [a, b] = [1 + below(30), 31 + below(30)]
    const same = `\\frac{${a + b} x + ${a * 0 + 2 * a * b}}{(x+${a})(x+${b})}`
    return { answer: `\\frac{${a}}{x+${a}} + \\frac{${b}}{x+${b}}`, same, other: same.replace('(x+', '(x-') }
  },
  logarithm() {
    const [base, exponent] = [2 + below(8), 2 + below(6)]
    return {
      answer: `\\ln ${base ** exponent}`,
      same: `${exponent}\\ln ${base}`,
      other: `${exponent}\\ln ${base + 1}`,
    }
  },
  'long factor'() {
    const factor = digits(12 + below(15))
    return {
      answer: `${factor}\\sqrt{2}`,
      same: `\\sqrt{2}\\cdot ${factor}`,
      other: `${altered(factor)}\\sqrt{2}`,
    }
  },
  set() {
    const items = [below(10), 10 + below(10), 20 + below(10)]
    return {
      answer: `\\{${items.join(', ')}\\}`,
      same: `\\{${items.toReversed().join(', ')}\\}`,
      other: `\\{${items[0]! + 40}, ${items[1]}, ${items[2]}\\}`,
    }
  },
  interval() {
    const [from, to] = [below(10), 20 + below(9)]
    return {
      answer: `[${from}, ${to})`,
      same: `${from} \\le x < ${to}`,
      other: pick([`(${from}, ${to})`, `[${from}, ${to}]`, `[${from}, ${to + 1})`]),
    }
  },
}

const scored = async (id: string, answer: string, completion: string) => {
  const [score] = await builtInReward(id).score([{ prompt: '', completion, row: { answer }, step: 0 }])
  return score !== undefined && 'value' in score ? score.value : score
}

async function check(id: string, make: () => Pair, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const [{ answer, same, other }, put] = [make(), pick(wordings)]
    expect(await scored(id, answer, put(other)), `${answer} is not ${put(other)}`).toBe(0)
    expect(await scored(id, answer, put(same)), `${answer} is ${put(same)}`).toBe(1)
  }
}

const times = casesOf(60, 3000)

describe('numeric-equality', () => {
  test.each(Object.entries(makers))('%s', (_, make) => check('numeric-equality', make, times))
})

describe('math-equality', () => {
  const numbers = Object.entries(makers).filter(([name]) => name !== 'time')
  test.each([...numbers, ...Object.entries(expressions)])('%s', (_, make) =>
    check('math-equality', make, times),
  )
})
