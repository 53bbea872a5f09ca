import { AppError } from '#shared/errors.ts'
import type { SequentialRandom } from '#shared/random.ts'
import { defineTask, judged, lastInteger } from './common.ts'

interface Operation {
  apply(a: number, b: number): number
}

const operations: Readonly<Record<string, Operation>> = {
  '+': { apply: (a, b) => a + b },
  '-': { apply: (a, b) => a - b },
  '*': { apply: (a, b) => a * b },
}

/** Two whole numbers and an operation. Columns `a`, `b` and `operation` of a row are taken instead. */
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
  new AppError('config/invalid', `The environment “arithmetic” cannot be set up: ${fault}.`)
