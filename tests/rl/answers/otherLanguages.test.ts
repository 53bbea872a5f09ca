/** Answers in sentences of other languages, some without spaces between words, and numbers with an exponent. */
import { describe, expect, test } from 'vitest'
import { paid, type Pair } from './paid.ts'

const rewards = ['numeric-equality', 'math-equality']

const earning: readonly Pair[] = [
  ...(['答案是5。', '答案：5', '共有5个苹果。', '总共5元', '所以答案为 5', '答えは5です。'] as const).map(
    (completion): Pair => ['5', completion],
  ),
  ['12', '所以答案是12。'],
  ['-5', '答案是-5。'],
  ['1/2', '答案是$\\frac{1}{2}$。'],
  ['0.5', '答案是50%。'],
  ['5', 'Ответ: 5'],
  ['5', 'Antwort: 5'],
  ['5', 'La respuesta: 5'],
  ['12元', '12'],
]
const never: readonly Pair[] = [
  ...['答案不是5。', '不是5。', '答案是大于5', '答案是5或6', '答案是5万', '第5个', '5倍', '没有5个'].map(
    (completion): Pair => ['5', completion],
  ),
  ...['答案是5的平方', '结果是三分之5', '5不是答案', '5ではない', '5以上'].map((completion): Pair => [
    '5',
    completion,
  ]),
  ['5', '共有5个苹果和3个梨'],
]

const scientific: readonly Pair[] = [
  ['1e-3', '0.001'],
  ['0.001', '\\boxed{1e-3}'],
  ['1e-7', '0.0000001'],
  ['1e-5', '\\boxed{1 \\times 10^{-5}}'],
  ['1.5e3', '1500'],
  ['0.001 m', '1e-3 m'],
]

describe.each(rewards)('%s', (reward) => {
  test.each([...earning, ...scientific])('%s pays “%s”', async (...pair) => {
    expect(await paid(reward, pair)).toBe(true)
  })

  test.each([...never, ['1e-5', '\\boxed{e-5}'] as const])('%s does not pay “%s”', async (...pair) => {
    expect(await paid(reward, pair)).toBe(false)
  })
})

describe('math-equality', () => {
  test.each([
    ['-1+2e', '\\boxed{2e-1}', true],
    ['\\sqrt{2}', '答案是$\\sqrt{2}$。', true],
    ['星期二', '答案是星期二。', true],
    ['\\varnothing', '\\boxed{\\emptyset}', true],
    ['no', 'no solution', false],
    ['no solution', '\\boxed{\\text{no solution}}', true],
  ])('%s and “%s”: %s', async (answer, completion, pays) => {
    expect(await paid('math-equality', [answer, completion])).toBe(pays)
  })
})
