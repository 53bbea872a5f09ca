/** Columns that contradict each other, and values that are written otherwise than usual. */
import { describe, expect, test } from 'vitest'
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

test('the whole answers of Step-DPO are named, and the steps begin both answers', () => {
  const pair = { prompt: 'Q', chosen: ' good', rejected: ' bad', full_chosen: 'fg', full_rejected: 'fb' }
  const row = { ...pair, initial_reason_steps: 'Step 1:' }
  const { leftAside, doubts, mapping } = detectShape([row])
  expect(leftAside.map(({ text }) => text)).toEqual([
    '“full_chosen” (better answers as a whole) is not used: “chosen” and “rejected” are read as the pair.',
    '“full_rejected” (worse answers as a whole) is not used: “chosen” and “rejected” are read as the pair.',
  ])
  expect(doubts).toEqual([
    '“initial_reason_steps” is read as the beginning of both answers: it follows the prompt as a message of the assistant, which “chosen” and “rejected” go on from.',
  ])
  const asked = { role: 'user', content: 'Q' }
  const begun = { role: 'assistant', content: 'Step 1:' }
  expect(mapItem({ row, number: 1, line: 1 }, mapping)).toMatchObject({ row: { prompt: [asked, begun] } })
  const first = { ...row, initial_reason_steps: '' }
  expect(mapItem({ row: first, number: 1, line: 1 }, mapping)).toMatchObject({ row: { prompt: [asked] } })
  const chat = detectShape([{ ...row, prompt: [asked] }])
  expect(chat.leftAside.map(({ text }) => text)).toContain(
    '“initial_reason_steps” (the steps before both answers, which belong to the prompt) is not used: “prompt” is read as the whole prompt.',
  )
})

describe('a last message beside the expected answer', () => {
  const said = (content: string, answer: unknown) => {
    const messages = [
      { role: 'user', content: 'Q' },
      { role: 'assistant', content },
    ]
    return detectShape([{ messages, answer }, { messages }]).doubts
  }

  test('is counted and shown where it ends with another number', () => {
    expect(said('It is 6', '5')).toEqual([
      'In 1 of the first 2 rows the last message of “messages” contradicts “answer”: in row 1 it ends with “It is 6”, and “answer” is “5”.',
    ])
  })

  test.each([
    ['So \\boxed{4} with 5 left', '5'],
    ['The answer is 1,234.', '1235'],
    ['#### 7', 8],
    ['<answer>C</answer>', 'B'],
  ])('%s contradicts %s', (content, answer) => {
    expect(said(content, answer)[0]).toContain('contradicts “answer”')
  })

  test.each([
    ['It is 5', '5'],
    ['We get 5 apples, that is all 7 can eat', 5],
    ['So \\boxed{\\frac12}', '0.5'],
    ['The capital is Paris', 'Lyon'],
    ['Nobody knows', '5'],
    ['It costs 1,234 euros, 3 more than before', '1234'],
    ['Step 1. Sum is 12 + 3 = 15\n#### 15', 'long words: 12+3 = <<12+3=15>>15\n#### 15'],
    ['5', null],
    ['5', ['6']],
  ])('%s does not contradict %j', (content, answer) => {
    expect(said(content, answer)).toEqual([])
  })

  test('so are completions and solutions', () => {
    expect(doubtsOf({ prompt: 'Q', completion: 'It is 6', answer: '5' })).toContain(
      'In 3 of the first 3 rows “completion” contradicts “answer”',
    )
    expect(doubtsOf({ problem: 'Q', solution: 'So \\boxed{6}', answer: '5' })).toContain(
      'In 3 of the first 3 rows “solution” contradicts “answer”',
    )
  })
})

test('texts inside objects are named where no prompt is recognised', () => {
  expect(
    doubtsOf({ question: { full_text: 'Q' }, answer_0: 'a', answer_1: 'b', score_0: 1, score_1: 0 }),
  ).toContain(
    '“question” holds texts under “full_text”. A prompt is made of whole columns: write these as columns of their own.',
  )
  expect(doubtsOf({ prompt: 'Q', answer: 'A', meta: { source: 'x' } })).not.toContain('holds texts under')
})

test('the system message beside conversations is added where they have none', () => {
  const messages = [
    { role: 'user', content: 'Q' },
    { role: 'assistant', content: 'A' },
  ]
  const system = { role: 'system', content: 's' }
  const other = [messages[0], { role: 'assistant', content: 'B' }]
  expect(mapped({ chosen: messages, rejected: other, system: 's' })).toMatchObject({
    row: { prompt: [system, messages[0]] },
  })
  const mixed = [{ messages: [system, ...messages] }, { messages, system: 'own' }]
  const { mapping } = detectShape(mixed)
  expect(mixed.map((row) => mapItem({ number: 1, line: 1, row }, mapping))).toMatchObject([
    { row: { prompt: [system, messages[0]] } },
    { row: { prompt: [{ role: 'system', content: 'own' }, messages[0]] } },
  ])
})
