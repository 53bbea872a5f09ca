/** Columns that contradict each other, and values that are written otherwise than usual. */
import { expect, test } from 'vitest'
import { parseRow } from '#host/data/jsonLines.ts'
import { mapItem } from '#host/data/mapping.ts'
import { detectShape } from '#host/data/shapes.ts'

type Row = Readonly<Record<string, unknown>>

const mapped = (row: Row) => mapItem({ number: 1, line: 1, row }, detectShape([row, row, row]).mapping)
const doubtsOf = (row: Row): string => detectShape([row, row, row]).doubts.join('\n')

test.each([["[['q1','a1']]"], ['[["q1", "a1"]]']])(
  'earlier turns written as text, %s, are turns',
  (history) => {
    expect(mapped({ instruction: 'q', response: 'a', history })).toMatchObject({
      row: { prompt: [{ content: 'q1' }, { role: 'assistant', content: 'a1' }, { content: 'q' }] },
    })
  },
)

test.each(['ground_truth', 'reference', 'gold', 'expected'])(
  '“%s” beside another answer is right',
  (truth) => {
    const row = { question: 'Q', contexts: ['p'], [truth]: 'a', answer: 'the model’s answer' }
    expect(mapped(row)).toMatchObject({ row: { answer: 'a' } })
    expect(doubtsOf(row)).toContain(`“${truth}” is read as the right answer, since it differs from “answer”`)
  },
)

test('a position that contradicts the answer is named', () => {
  const row = { question: '2+2?', options: ['1', '4', '5'], answer: 'C', answer_index: 1 }
  expect(doubtsOf(row)).toContain(
    'In 3 of the first 3 rows “answer_index” points at another choice than “answer” names; “answer” is used.',
  )
  expect(doubtsOf({ ...row, answer_index: 2 })).not.toContain('points at another choice')
  expect(doubtsOf({ ...row, answer_index: 3 })).not.toContain('points at another choice')
})

test('a key that appears twice in a line is refused', () => {
  const place = { number: 1, line: 1 }
  for (const text of ['{"prompt":"Q","answer":"1","answer":"2"}', '{"a":[{"b":1, "b" :2}]}'])
    expect(parseRow(text, place)).toMatchObject({
      line: 1,
      sentence: expect.stringContaining('appears twice') as string,
    })
  expect(parseRow('{"a":"x\\\\","b":"\\"c\\":1","d":[{"a":"e: \\"f\\" :"}]}', place)).toHaveProperty('row')
})

test('a label of 0 or 1 beside two answers is no answer', () => {
  const row = { prompt: 'Q', response_a: 'good', response_b: 'bad' }
  const { answer, doubts } = detectShape([0, 1, 0].map((label) => ({ ...row, label })))
  expect(answer).toBeNull()
  expect(doubts.join('\n')).toContain('are nearly preference pairs')
})

test.each([
  ['rank', 'lower'],
  ['score', 'higher'],
])('numbers called %s count as the better where they are %s', (name, better) => {
  const row = { prompt: 'Q', response_1: 'a', response_2: 'b', [`${name}_1`]: 2, [`${name}_2`]: 1 }
  expect(doubtsOf(row)).toContain(
    `The answer with the ${better} number in “${name}_1” and “${name}_2” is read as the better one.`,
  )
})

test('the steps before two answers and the whole answers of Step-DPO are named', () => {
  const pair = { prompt: 'Q', chosen: ' good', rejected: ' bad', full_chosen: 'fg', full_rejected: 'fb' }
  const { leftAside } = detectShape([{ ...pair, initial_reason_steps: 'Step 1:' }])
  expect(leftAside.map(({ text }) => text)).toEqual([
    '“full_chosen” (better answers as a whole) is not used.',
    '“full_rejected” (worse answers as a whole) is not used.',
    '“initial_reason_steps” (the steps before both answers, which belong to the prompt) is not used.',
  ])
})
