import { describe, expect, test } from 'vitest'
import { isProblem, type DataRow } from '#host/data/dataFile.ts'
import { mapItem } from '#host/data/mapping.ts'
import { RowMapper } from '#host/data/pairs.ts'
import { detectShape } from '#host/data/shapes.ts'

describe('marks of good and bad answers', () => {
  const marked = (column: string, good: unknown, bad: unknown, answer = 'completion'): DataRow[] => [
    { prompt: 'p', [answer]: 'a', [column]: good },
    { prompt: 'p', [answer]: 'b', [column]: bad },
  ]
  const pairs: readonly Parameters<typeof marked>[] = [
    ['label', 1, -1],
    ['label', 'good', 'bad'],
    ['label', 'yes', 'no'],
    ['liked', true, false],
    ['desirable', 1, 0],
    ['quality', 'accepted', 'rejected'],
    ['feedback', 'thumbs_up', 'thumbs_down', 'response'],
    ['thumbs_up', '1', '0', 'response'],
  ]
  test.each(pairs.map((pair) => ({ pair })))('$pair make pairs', ({ pair }) => {
    const rows = marked(...pair)
    const { id, mapping } = detectShape(rows)
    expect(id).toBe('unpaired-preference')
    const mapper = new RowMapper(mapping)
    const made = rows.flatMap((row, at) => mapper.take({ row, number: at + 1, line: null }))
    expect(made).toMatchObject([{ row: { prompt: 'p', chosen: 'a', rejected: 'b' } }])
  })

  test('without a prompt that has both they stay as they are, with the mark under its usual name', () => {
    const rows = [
      { prompt: 'p', response: 'a', thumbs_up: 1 },
      { prompt: 'q', response: 'b', thumbs_up: 0 },
    ]
    const { id, mapping, doubts } = detectShape(rows)
    expect([id, doubts[0]]).toEqual(['unpaired-preference', expect.stringContaining('KTO learns from them')])
    const mapper = new RowMapper(mapping)
    const made = rows.flatMap((row, at) => mapper.take({ row, number: at + 1, line: null }))
    expect([...made, ...mapper.end()]).toMatchObject([
      { row: { prompt: 'p', completion: 'a', label: 1 } },
      { row: { prompt: 'q', completion: 'b', label: 0 } },
    ])
  })

  test('LLaMA-Factory’s columns with a kto_tag make pairs', () => {
    const rows = [
      { instruction: 'Add.', input: '2 and 3', output: '5', kto_tag: true },
      { instruction: 'Add.', input: '2 and 3', output: '6', kto_tag: false },
    ]
    const bare = rows.map(({ input: _input, ...row }) => row)
    for (const [told, content] of [
      [rows, 'Add.\n\n2 and 3'],
      [rows.map((row) => ({ ...row, input: '' })), 'Add.'],
      [bare, 'Add.'],
    ] as const) {
      const { id, mapping } = detectShape(told)
      expect(id).toBe('unpaired-preference')
      const mapper = new RowMapper(mapping)
      const made = told.flatMap((row, at) => mapper.take({ row, number: at + 1, line: null }))
      expect(made).toMatchObject([
        { row: { prompt: [{ role: 'user', content }], chosen: '5', rejected: '6' } },
      ])
    }
  })

  test.each<[string, DataRow[], string[]]>([
    ['a class beside a response', marked('label', 1, 0, 'response'), ['label']],
    [
      'a verdict on a question and its answer',
      [{ question: 'q', answer: 'a', status: 'rejected' }],
      ['status'],
    ],
  ])('%s is named', (_, rows, left) => {
    const { id, leftAside } = detectShape(rows)
    expect(id).not.toBe('unpaired-preference')
    expect(leftAside.map(({ column }) => column)).toEqual(left)
  })

  test('between 1 and -1, nothing says what 0 is', () => {
    const rows = [...marked('label', 1, -1), { prompt: 'p', completion: 'c', label: 0 }]
    expect(detectShape(rows)).toMatchObject({
      id: 'prompt-completion',
      leftAside: [
        {
          text: '“label” (a class, a position or a mark) is not used: its values do not say which of these.',
        },
      ],
    })
  })
})

test.each<[DataRow, Record<string, string>]>([
  [
    { prompt: 'Hi', good: 'a', bad: 'b' },
    { good: 'better answers', bad: 'worse answers' },
  ],
  [
    { prompt: 'Hi', chosen: 'a', rejected: ['b', 'c'] },
    { chosen: 'better answers', rejected: 'worse answers' },
  ],
  [{ prompt: 'Hi', chosen: 'a', rejected: 'b', margin: 1 }, { margin: 'by how much an answer is better' }],
  [{ prompt: 'Hi', canonical_solution: 'c', task_id: 'T/0' }, { canonical_solution: 'a solution' }],
  [
    { prompt: 'P', question: 'Q', answer: 'A', response: 'R' },
    { question: '', response: '' },
  ],
  [{ prompt: 'P', chosen: 'a', rejected: 'b', label: 0 }, { label: 'a class, a position or a mark' }],
  [{ prompt: 'P', answer: 'a', toxicity_scores: [0.9] }, { toxicity_scores: 'a number about an answer' }],
  [{ prompt: 'P', answer: 'a', history: 'Rome' }, { history: '' }],
])('what %j holds besides is named', (row, left) => {
  expect(detectShape([row]).leftAside).toEqual(
    Object.entries(left).map(([column, meaning]) => ({
      column,
      text: expect.stringMatching(
        `^“${column}” ${meaning === '' ? '' : `\\(${meaning}\\) `}is not used: .+`,
      ) as string,
    })),
  )
})

test.each<[DataRow, string | null]>([
  [{ answer_0: 'a long answer', answer_1: 'another', score_0: 1, score_1: 0 }, null],
  [{ message_id: 'm-17', role: 'user' }, null],
  [{ en: 'Hello', de: 'Guten Tag' }, '{en}'],
  [{ nums: [3, 5], target: 8 }, null],
  [{ a: 3, b: 5 }, '{a}'],
  [{ text: 'bad', label: 0, label_text: 'negative' }, '{text}'],
  [{ code: 'def long(): pass', body_text: 'Write it' }, '{body_text}'],
])('of %j a template is made only of what may be a question', (row, template) => {
  expect(detectShape([row]).template).toBe(template)
})

describe('the right one of several choices', () => {
  const choices = ['4', '3', '5', '6']
  const read = (...answers: readonly unknown[]) => {
    const rows = answers.map((answer) => ({ question: 'q', choices, answer }))
    const { mapping, doubts } = detectShape(rows)
    const items = rows.map((row) => mapItem({ row, number: 1, line: 1 }, mapping))
    return { doubts, answers: items.map((item) => (isProblem(item) ? item.sentence : item.row['answer'])) }
  }

  test('digits written as text are positions, unless they are the choices', () => {
    expect(read('0', '1', '2')).toEqual({
      answers: ['A', 'B', 'C'],
      doubts: ['“answer” is read as the position of the right choice, counted from 0.'],
    })
    expect(read('4', '1', '2').answers).toEqual(['D', 'A', 'B'])
    expect(read('4', '3', '5')).toEqual({ answers: ['A', 'B', 'C'], doubts: [] })
  })

  test.each([
    [1, 2, 3],
    ['1', '2', '1'],
  ])('%j, %j, %j do not tell where positions begin', (...answers) => {
    expect(read(...answers)).toEqual({
      answers,
      doubts: [expect.stringContaining('the rows do not tell whether positions count from 0 or from 1')],
    })
  })

  test('several right ones stay as they are', () => {
    expect(read([0, 1], [1, 2])).toEqual({
      answers: [
        [0, 1],
        [1, 2],
      ],
      doubts: [
        '“answer” may name several right choices; it is kept as it is.',
        '“answer” is not text, so rewards that compare with a single answer cannot be used.',
      ],
    })
  })
})

test('languages that differ are named at import', () => {
  const rows = ['en', 'de'].map((language) => ({ question: 'q', answer: 'a', language }))
  const left = [
    { column: 'language', text: '“language” (a language) is not used: the prompt does not name it.' },
  ]
  expect(detectShape(rows).leftAside).toEqual(left)
  expect(detectShape(rows.map((row) => ({ ...row, language: 'en' }))).leftAside).toEqual([])
})

test.each<[DataRow[], string]>([
  [
    ['caps', null, null].map((constraint) => ({ question: 'q', answer: 'a', constraint })),
    '“constraint” is not used: its name does not say what it is for.',
  ],
  [
    [true, false].map((is_impossible) => ({ question: 'q', answer: 'a', is_impossible })),
    '“is_impossible” is not used: its name does not say what it is for.',
  ],
  [
    [true, false].map((is_safe) => ({ prompt: 'q', response: 'a', is_safe })),
    '“is_safe” (which answers are good) is not used: called “label”, such marks beside “prompt” and “completion” make pairs.',
  ],
])('%j: what only some rows say is named', (rows, text) => {
  expect(detectShape(rows).leftAside.map((left) => left.text)).toContain(text)
})

test.each([
  ['<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n', '<|im_start|>'],
  ['<s>[INST] Hi [/INST]', '[INST]'],
  ['<start_of_turn>user\nHi<end_of_turn>', '<start_of_turn>'],
])('a template that was applied already is told: %j', (text, mark) => {
  const doubts = ['prompt', 'question', 'text'].map((name) =>
    detectShape([{ [name]: text, answer: 'a' }]).doubts.join(),
  )
  for (const said of doubts) expect(said).toContain(`holds marks of a chat template (${mark})`)
  expect(detectShape([{ question: 'What is [1]?', answer: 'a' }]).doubts).toEqual([])
})

describe('the reason why a column is not used', () => {
  const chat = [
    { role: 'user', content: 'Q' },
    { role: 'assistant', content: 'A' },
  ]
  const withSystem = [{ role: 'system', content: 'own' }, ...chat]
  const empty = 'it is empty in every row'

  test.each<[DataRow, string, string]>([
    [{ messages: chat, sample_weight: 2 }, 'sample_weight', 'every row counts alike'],
    [{ messages: chat, quality: 2 }, 'quality', 'no algorithm learns from it'],
    [{ messages: chat, human_label: 2 }, 'human_label', 'its values do not say which of these'],
    [
      { messages: chat, correctness_math_verify: [true, false] },
      'correctness_math_verify',
      'no algorithm learns from it',
    ],
    [{ question: 'q', answer: 'a', context: '' }, 'context', empty],
    [{ question: 'q', answer: 'a', system: null }, 'system', empty],
    [{ messages: chat, history: [] }, 'history', empty],
    [{ messages: chat, context: 'Rome fell.' }, 'context', '“messages” is read as the whole conversation'],
    [{ messages: chat, history: [['q', 'a']] }, 'history', '“messages” is read as the whole conversation'],
    [
      { messages: withSystem, system: 'Be brief.' },
      'system',
      '“messages” begins with a system message of its own',
    ],
    [
      { question: 'q', answer: 'a', system: 's', system_prompt: 't' },
      'system_prompt',
      '“system” is read for it',
    ],
    [{ question: 'q', answer: 'a', system: ['s'] }, 'system', 'it holds lists of texts, not texts'],
    [{ question: 'q', answer: 'a', context: ['c'] }, 'context', 'it holds lists of texts, not texts'],
    [{ question: 'q', answer: 'a', passage: 'p', context: 'c' }, 'passage', '“context” is read for it'],
    [
      { question: 'q', answer: 'a', history: [1] },
      'history',
      'it holds neither conversations nor lists of two texts each',
    ],
    [
      { question: 'q', answer: 'a', choices: [1, 2] },
      'choices',
      'it does not hold lists of texts in every row',
    ],
    [{ text: 't', context: 'c' }, 'context', 'no column is recognised as the prompt'],
    [{ messages: chat, answer: 4 }, 'answer', '“messages” ends with the answer'],
    [{ messages: chat, question: 'Else' }, 'question', '“messages” is read as the whole conversation'],
    [
      { prompt: 'p', chosen: 'a', rejected: ['b'] },
      'rejected',
      'it holds lists of texts, not one answer each',
    ],
    [
      { chosen: chat, rejected: [chat[0], { role: 'assistant', content: 'B' }], context: 'Rome fell.' },
      'context',
      '“chosen” and “rejected” begin with the prompt',
    ],
  ])('%j: “%s”', (row, column, reason) => {
    const left = detectShape([row]).leftAside.find((each) => each.column === column)
    expect(left?.text.split(' is not used: ')[1]).toBe(`${reason}.`)
  })
})
