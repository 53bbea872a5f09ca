import { type AppError, invalidConfig } from '#shared/errors.ts'
import type { SequentialRandom } from '#shared/random.ts'
import { defineTask, judged, lastInteger, taggedAnswer } from './common.ts'
import { doubt } from '../common.ts'

interface Operation {
  apply(a: number, b: number): number
}

const operations: Readonly<Record<string, Operation>> = {
  '+': { apply: (a, b) => a + b },
  '-': { apply: (a, b) => a - b },
  '*': { apply: (a, b) => a * b },
}

/** Task with two whole numbers and an operation. Columns `a`, `b` and `operation` of a row are taken instead. */
export const arithmetic = defineTask({
  id: 'arithmetic',
  description: 'Sums, differences or products of two whole numbers: 1 for the right number, else 0.',
  settings: { operations: '+-', digits: 2 },
  create({ operations: signs, digits }) {
    const chosen = [...signs]
    if (chosen.length === 0 || chosen.some((sign) => !Object.hasOwn(operations, sign))) {
      throw invalid(`operations are some of + - *, got “${signs}”`)
    }
    if (!(Number.isInteger(digits) && digits >= 1 && digits <= 7)) throw invalid('digits are 1 to 7')
    const drawn = (random: SequentialRandom) => random.integer(10 ** digits)
    return {
      maxTurns: 1,
      reset({ row, random }) {
        const [left, right] = [drawn(random), drawn(random)]
        const sign = chosen[random.integer(chosen.length)]!
        const [a, b] = [numberIn(row['a'], left), numberIn(row['b'], right)]
        const operation = typeof row['operation'] === 'string' ? row['operation'] : sign
        const found = Object.hasOwn(operations, operation) ? operations[operation] : undefined
        if (found === undefined) throw new Error(`Expected an operation out of + - *, got “${operation}”.`)
        return {
          state: found.apply(a, b),
          observation: `What is ${a} ${operation} ${b}? Answer with the number alone.`,
        }
      },
      step: ({ state, action }) => judged(lastInteger(action) === state),
    }
  },
})

const numberIn = (value: unknown, otherwise: number): number =>
  typeof value === 'number' ? value : otherwise

const invalid = (fault: string): AppError =>
  invalidConfig(`The environment “arithmetic” cannot be set up: ${fault}.`)

interface CountdownState {
  readonly numbers: readonly number[]
  readonly target: number
}

/**
 * The numbers round of the television game, as in TinyZero: reach a target with given numbers, each used once. Columns
 * `numbers` (or `nums`) and `target` of a row are taken instead of drawn ones.
 */
export const countdown = defineTask({
  id: 'countdown',
  description:
    'Reach a target number with + − × ÷ from given numbers: 1 for a right equation in <answer> tags, a little for an equation that misses.',
  settings: { count: 4, highest: 50, formReward: 0.1 },
  create({ count, highest, formReward }) {
    if (!(Number.isInteger(count) && count >= 2 && count <= 8 && Number.isInteger(highest) && highest >= 2)) {
      throw invalidConfig('The environment “countdown” needs 2 to 8 numbers of at least 2.')
    }
    return {
      maxTurns: 1,
      reset({ row, random }) {
        const given = givenPuzzle(row)
        const state = given ?? drawPuzzle(count, highest, random)
        return { state, observation: instructions(state) }
      },
      step({ state, action }) {
        const equation = taggedAnswer(action)
        const value = equation === null ? null : evaluated(equation, state.numbers)
        const isRight = value !== null && Math.abs(value - state.target) < 1e-9
        const reward = isRight ? 1 : value === null ? 0 : formReward
        return { reward, terminated: true, metrics: { correct: Number(isRight) } }
      },
    }
  },
  doubts: ({ formReward, highest }) => [
    ...(formReward >= 1
      ? [
          doubt(
            'formReward',
            `${formReward}; an equation that misses earns as much as a right one, which earns 1.`,
          ),
        ]
      : []),
    ...(highest > 10_000 ? [doubt('highest', `${highest}; up to 100 is usual.`)] : []),
  ],
})

const instructions = ({ numbers, target }: CountdownState): string =>
  `Using the numbers ${numbers.join(', ')}, write an expression that equals ${target}. Use each number exactly once, ` +
  'and + - * / and parentheses as you like. Put the expression in <answer> tags, for example <answer>(1 + 2) / 3</answer>.'

function givenPuzzle(row: Readonly<Record<string, unknown>>): CountdownState | null {
  const numbers = row['numbers'] ?? row['nums']
  const { target } = row
  if (numbers === undefined && target === undefined) return null
  if (
    Array.isArray(numbers) &&
    numbers.every((each) => typeof each === 'number') &&
    typeof target === 'number'
  ) {
    return { numbers, target }
  }
  throw new Error('Expected numbers in column “numbers” and a number in column “target”.')
}

/** Works the numbers into one, so that the puzzle can be solved; the result is whole and above 0. */
function drawPuzzle(count: number, highest: number, random: SequentialRandom): CountdownState {
  for (;;) {
    const numbers = Array.from({ length: count }, () => 1 + random.integer(highest))
    const values = random.shuffled(numbers)
    while (values.length > 1) {
      const [a = 0, b = 0] = [values.shift(), values.shift()]
      const whole = [a + b, a * b, ...(a > b ? [a - b] : []), ...(a % b === 0 ? [a / b] : [])]
      values.push(whole[random.integer(whole.length)]!)
    }
    const [target = 0] = values
    if (target <= 20 * highest) return { numbers, target }
  }
}

/**
 * Returns the value of an expression that uses each of the numbers once; null where it does not, or is not an
 * expression.
 */
function evaluated(text: string, numbers: readonly number[]): number | null {
  const expression = text.replace(/=[^=]*$/, '')
  if (expression.length > 200) return null
  const tokens = expression.match(/\d+|[-+*/()]|\S/g) ?? []
  const used = tokens.filter((token) => /^\d/.test(token)).map(Number)
  const sorted = (list: readonly number[]) => list.toSorted((a, b) => a - b).join()
  if (sorted(used) !== sorted(numbers)) return null
  const value = new Reader(tokens).whole()
  return value === null || !Number.isFinite(value) ? null : value
}

/** Sums of products of numbers and parentheses. */
class Reader {
  #at = 0
  readonly #tokens: readonly string[]

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  /** Returns the value; null where the tokens are not an expression. */
  whole(): number | null {
    const value = this.#sum()
    return this.#at === this.#tokens.length ? value : null
  }

  #sum(): number | null {
    let value = this.#product()
    for (let sign = this.#oneOf('+-'); sign !== null; sign = this.#oneOf('+-')) {
      const right = this.#product()
      if (value === null || right === null) return null
      value = sign === '+' ? value + right : value - right
    }
    return value
  }

  #product(): number | null {
    let value = this.#factor()
    for (let sign = this.#oneOf('*/'); sign !== null; sign = this.#oneOf('*/')) {
      const right = this.#factor()
      if (value === null || right === null) return null
      value = sign === '*' ? value * right : value / right
    }
    return value
  }

  #factor(): number | null {
    if (this.#oneOf('(') !== null) {
      const inner = this.#sum()
      return this.#oneOf(')') === null ? null : inner
    }
    const token = this.#tokens[this.#at]
    if (token === undefined || !/^\d+$/.test(token)) return null
    this.#at++
    return Number(token)
  }

  #oneOf(signs: string): string | null {
    const token = this.#tokens[this.#at]
    if (token === undefined || !signs.includes(token)) return null
    this.#at++
    return token
  }
}
