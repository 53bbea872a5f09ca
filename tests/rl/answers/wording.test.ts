/** Words and marks beside a value that make another one of it: neither reward ever pays those. Beside them what must still earn. */
import { describe, expect, test } from 'vitest'
import { paid, type Pair } from './paid.ts'

const never: Readonly<Record<string, readonly Pair[]>> = {
  'denied in other words': [
    ['5', 'The answer is anything but 5'],
    ['5', '\\boxed{\\text{anything but } 5}'],
    ['5', 'The answer is anything but $5$.'],
    ['5', 'Answer: all numbers except 5'],
    ['5', 'everything except for 5'],
    ['5', 'Answer: any number other than 5'],
    ['5', 'Answer: not equal to 5'],
    ['5', 'The answer is different from 5'],
    ['5', 'It is 6 rather than 5'],
    ['\\sqrt{2}', 'The answer is anything but $\\sqrt{2}$'],
  ],
  'computed with in words': [
    ['5', 'The answer is twice 5'],
    ['5', '\\boxed{\\text{twice }5}'],
    ['5', 'The answer is twice $5$.'],
    ['5', 'The answer is half 5'],
    ['5', 'The answer is half of 5'],
    ['5', 'The answer is double 5'],
    ['5', 'The answer is triple 5'],
    ['5', 'The answer is a third of 5'],
    ['5', 'The answer is three quarters of 5'],
    ['5', 'The answer is 3 times 5'],
    ['5', 'The answer is 20% of 5'],
    ['5', 'The answer is a multiple of 5'],
    ['5', 'The answer is the sum of 5 and 3'],
    ['5', 'The answer is 5 less than 10'],
    ['10', 'The answer is 5 less than 10'],
    ['5', 'The answer is 5 more than 3'],
    ['5', 'The answer is 5 more than twice x'],
    ['5', 'The answer is $5$ more than $3$.'],
    ['x+1', 'The answer is half of $x+1$.'],
  ],
  'bounds in words': [
    ['5', 'less than or equal to 5'],
    ['5', 'The answer is less than or equal to 5'],
    ['5', 'up to 5'],
    ['5', '\\boxed{\\text{up to } 5}'],
    ['5', 'at least 5'],
    ['5', 'It is at most \\(5\\).'],
    ['5', 'The answer exceeds 5'],
    ['5', 'The answer is above 5'],
    ['5', 'almost 5'],
    ['5', 'The answer is 5 or more'],
    ['5', '\\boxed{5\\text{ or more}}'],
    ['5', 'The answer is 5 at most'],
    ['\\sqrt{2}', 'less than $\\sqrt{2}$'],
  ],
  'two values with one sign': [
    ['5', 'The answer is 5 ± 1'],
    ['5', 'The answer is 5 give or take 1'],
    ['2', '±2'],
    ['2', 'The answer is ±2'],
  ],
  'before and after': [
    ['5 days ago', 'in 5 days'],
    ['5 days later', '5 days ago'],
    ['500 BC', '500'],
    ['500 BC', '500 AD'],
  ],
  'numbers that count the parts of a text': [
    ['5', "I can't solve it. See chapter 5."],
    ['5', 'Question 5'],
    ['5', 'Step 5: no result'],
    ['5', 'See page 5'],
    ['5', 'By equation (5).'],
    ['2', '1. First\n2. Second'],
    ['2', '(1) First\n(2) Second'],
    ['1', '1) First'],
    ['2', '1. First we get 4.\n2. Done'],
  ],
  'places in a row and decades': [
    ['5', 'The 5th'],
    ['5', 'The answer is 5th'],
    ['5', '\\boxed{5th}'],
    ['5th', '6th'],
    ['1990s', '1990'],
    ['1990', '1990s'],
    ['1990', 'The answer is the 1990s'],
  ],
  'other names': [
    ['x=5', 'y=5'],
    ['x=5', 'The answer is y=5.'],
    ['x=5', '\\boxed{y=5}'],
    ['x=5', 'so y = 5'],
    ['x=5', 'We get $y=5$.'],
    ['x_1=5', 'x_2=5'],
    ['x=24 cm', 'y=24 cm'],
    ['IV', 'VI'],
    ['IX', '\\boxed{XI}'],
  ],
  'units that look alike': [
    ['20 cents', 'The answer is $20'],
    ['$20', '20 cents'],
    ['£20', '$20'],
    ['5 Mb', '5 MB'],
    ['5 GB', '5 Gb'],
    ['5 Mbps', '5 MBps'],
    ['1:30:00', '1:30'],
    ['1:30', '1:30:00'],
  ],
  'the same sign or exponent in other words': [
    ['5', '5 below zero'],
    ['5', 'It was 5°C below zero.'],
    ['5', 'It is -5.'],
    ['5', 'x - 5'],
    ['x²', 'x^3'],
    ['x²', '2x'],
    ['24 m²', '24 m³'],
    ['1', '\\lceil 1.5 \\rceil'],
    ['-1', '\\lfloor -1.5 \\rfloor'],
    ['$20', '20 pounds'],
    ['£20', '20 lb'],
    ['20 kg', '20 pounds'],
    ['£20', '320 ounces'],
    ['٥', '٦'],
  ],
}

const earned: readonly (readonly [...Pair, ways: 'math' | 'both'])[] = [
  ['5 days ago', 'The answer is 5 days ago.', 'math'],
  ['500 BC', '\\boxed{500 BC}', 'math'],
  ['4', '1. First we add.\n2. Then we get 4.', 'both'],
  ['4', 'Step 1: 2+2\nStep 2: 4', 'both'],
  ['12', 'Step 1: 12 apples.\nStep 2: done.', 'both'],
  ['3.5', '1. 3.5', 'both'],
  ['5', 'The answer is page 5', 'both'],
  ['5th', 'He came 5th.', 'both'],
  ['1990s', '\\boxed{1990s}', 'math'],
  ['x=5', 'so $x = 5$', 'both'],
  ['x=5', 'x = 10/2 = 5', 'both'],
  ['5', 'y=5', 'both'],
  ['IV', 'The answer is IV.', 'math'],
  ['20 cents', '$0.20', 'both'],
  ['£20', 'The answer is 20 pounds.', 'both'],
  ['20 pounds', '£20', 'both'],
  ['20 lb', '20 pounds', 'both'],
  ['-5', '5 below zero', 'both'],
  ['-5', 'It was 5°C below zero.', 'both'],
  ['-5', 'It is -5.', 'both'],
  ['5', 'It was 5 °C.', 'both'],
  ['x²', 'x^2', 'math'],
  ['x^{10}', 'x¹⁰', 'math'],
  ['24 cm^2', '\\boxed{24 cm²}', 'both'],
  ['٥', '5', 'both'],
  ['3.5', 'The answer is ٣٫٥', 'both'],
  ['15', '۱۵', 'both'],
  ['2', '\\lceil 1.5 \\rceil', 'math'],
  ['\\lfloor -1.5 \\rfloor', '-2', 'math'],
  ['$0.20', 'The answer is 20 cents.', 'both'],
  ['$3.50', '3 dollars 50 cents', 'both'],
  ['5 MB', '5 megabytes', 'both'],
  ['5 Mbps', '5 Mb/s', 'both'],
  ['1:30 PM', '1:30:00 PM', 'both'],
  ['13:30:00', '1:30 PM', 'both'],
  ['\\pm 2', '±2', 'math'],
  ['5 \\pm 1', 'The answer is 5 ± 1', 'math'],
]

const stillEarned = [
  'The answer is not 4 but 5.',
  'It is nothing but 5.',
  '10 is greater than 3, so the answer is 5.',
  'It grows by a factor of 5.',
  'Tom has 5 more than Ann.',
  'Tom has 5 fewer apples than Ann.',
  'The answer is 5, which is less than 10.',
  'Half of 10 is 5',
  'The sum of 2 and 3 is 5.',
  'After 2 hours she has 5',
  'It was 5 days ago.',
  'about 5',
  'The answer is $5$ dollars.',
]

test.each(stillEarned)('5 | %s earns', async (completion) => {
  expect([
    await paid('numeric-equality', ['5', completion]),
    await paid('math-equality', ['5', completion]),
  ]).toEqual([true, true])
})

describe.each(Object.entries(never))('never paid: %s', (_, pairs) => {
  test.each(pairs)('%s | %s', async (...pair) => {
    expect([await paid('numeric-equality', pair), await paid('math-equality', pair)]).toEqual([false, false])
  })
})

test.each(earned)('%s | %s earns', async (answer, completion, ways) => {
  expect(await paid('math-equality', [answer, completion])).toBe(true)
  if (ways === 'both') expect(await paid('numeric-equality', [answer, completion])).toBe(true)
})

test('long white space is read in no time', async () => {
  const completion = `5${' '.repeat(60_000)}x,${'\n '.repeat(30_000)}so it is 7`
  expect(await paid('numeric-equality', ['7', completion])).toBe(true)
  expect(await paid('math-equality', ['7', completion])).toBe(true)
})
