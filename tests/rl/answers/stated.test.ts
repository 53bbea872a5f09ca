import { expect, test } from 'vitest'
import { expectedLiteral, statedLiteral } from '#rl/answers/findLiteral.ts'
import { isSameLiteral } from '#rl/answers/literal.ts'
import { expectedMath, saysMath } from '#rl/answers/mathAnswer.ts'

/** What a completion states of an answer, by the reading of a person. */
const cases: readonly (readonly [answer: string, completion: string, isRight: 0 | 1])[] = [
  ['1.5 million', '1.5', 0],
  ['1.5 million', '\\boxed{1.5}', 0],
  ['$2 billion', '2', 0],
  ['3 dozen', '\\boxed{3}', 0],
  ['1.5 million', '1,500,000', 1],
  ['1000000', '1 million', 1],
  ['2 dozen', '24', 1],
  ['3 hours 20 minutes', '20', 0],
  ['5 feet 3 inches', 'The answer is 3.', 0],
  ['10', '\\boxed{\\text{not } 10}', 0],
  ['10', '\\boxed{>10}', 0],
  ['10', 'The answer is less than 10', 0],
  ['10', 'The final answer is never 10', 0],
  ['8', "The answer isn't 8.", 0],
  ['8', 'The answer cannot be 8.', 0],
  ['8', "It isn't 8", 0],
  ['8', 'The wrong answer is 8.', 0],
  ['8', 'The answer is 7. The wrong answer would be 8.', 0],
  ['5', 'The answer is minus 5.', 0],
  ['-5', 'The answer is minus 5.', 1],
  ['-5', 'The answer is negative 5.', 1],
  ['7', "The answer isn't 8, it is 7", 1],
  ['8', "The answer isn't 8, it is 7", 0],
  ['10', 'The answer is either 9 or 10', 0],
  ['10', 'The answer is between 9 and 10', 0],
  ['10', 'The answer could be 9, or it could be 10', 0],
  ['\\frac12', '\\boxed{1}/2', 1],
  ['1', '\\boxed{1}/2', 0],
  ['12', '\\boxed{12}^2', 0],
  ['10', '<think>The answer is 10', 0],
  ['x>10', '\\boxed{x>10}', 1],
  ['10', 'The answer is 10.', 1],
  ['10', 'So it is 10', 1],
  ['5', '10 minus 5 is 5', 1],
]

const tolerance = 1e-6

test.each(cases)('%s | %s: %d', (answer, completion, isRight) => {
  const math = expectedMath(answer)
  if (math !== null) expect(saysMath(math, completion, tolerance)).toBe(isRight === 1)
  const number = expectedLiteral(answer)
  if (number === null) return
  const stated = statedLiteral(completion, number)
  expect(stated !== null && isSameLiteral(number, stated, tolerance)).toBe(isRight === 1)
})
