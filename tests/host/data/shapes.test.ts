import { describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { isProblem, type DataRow } from '#host/data/dataFile.ts'
import { mapItem } from '#host/data/mapping.ts'
import { RowMapper } from '#host/data/pairs.ts'
import { previewPrompts } from '#host/data/preview.ts'
import type { ExperienceKind } from '#shared/experience.ts'
import { columnWarnings } from '#host/data/runColumns.ts'
import { detectShape } from '#host/data/shapes.ts'

const user = { role: 'user', content: 'hi' }
const reply = { role: 'assistant', content: 'yes' }
const other = { role: 'assistant', content: 'no' }

/** Row → shape, then what the mapping makes of the row, then what the policy would read. */
const cases: readonly [shape: string, row: DataRow, mapped: DataRow, prompt: string | null][] = [
  ['prompt-only', { prompt: 'p', level: 3 }, { prompt: 'p', level: 3 }, 'p'],
  ['prompt-answer', { prompt: [user], answer: '4' }, { prompt: [user], answer: '4' }, 'user: hi'],
  ['prompt-completion', { prompt: 'p', completion: 'c' }, { prompt: 'p', completion: 'c' }, 'p'],
  [
    'preference',
    { prompt: 'p', chosen: 'a', rejected: 'b' },
    { prompt: 'p', chosen: 'a', rejected: 'b' },
    'p',
  ],
  [
    'preference',
    { chosen: [user, reply], rejected: [user, other] },
    { prompt: [user], chosen: [reply], rejected: [other] },
    'user: hi',
  ],
  ['preference', { chosen: 'pa', rejected: 'pb' }, { chosen: 'pa', rejected: 'pb' }, null],
  [
    'preference',
    { question: 'q', chosen: 'a', rejected: 'b' },
    { prompt: 'q', chosen: 'a', rejected: 'b' },
    'q',
  ],
  [
    'unpaired-preference',
    { prompt: 'p', completion: 'c', label: false },
    { prompt: 'p', completion: 'c', label: false },
    'p',
  ],
  [
    'stepwise',
    { prompt: 'p', completions: ['a', 'b'], labels: [true, false] },
    { prompt: 'p', completions: ['a', 'b'], labels: [true, false] },
    'p',
  ],
  ['conversation', { messages: [user, reply] }, { prompt: [user], completion: 'yes' }, 'user: hi'],
  [
    'conversation',
    {
      id: 1,
      conversations: [
        { from: 'human', value: 'hi' },
        { from: 'gpt', value: 'yes' },
      ],
    },
    { id: 1, prompt: [user], completion: 'yes' },
    'user: hi',
  ],
  [
    'conversation',
    { messages: [user, reply, user], answer: '4' },
    { prompt: [user, reply, user], answer: '4' },
    'user: hi\n\nassistant: yes\n\nuser: hi',
  ],
  [
    'conversation',
    { conversations: [{ from: 'human', value: 'hi' }], solution: '4' },
    { prompt: [user], answer: '4' },
    'user: hi',
  ],
  [
    'instruction',
    { instruction: 'Add', input: '1 2', output: '3' },
    { instruction: 'Add', input: '1 2', answer: '3', prompt: [{ role: 'user', content: 'Add\n\n1 2' }] },
    'user: Add\n\n1 2',
  ],
  ['question-answer', { question: 'q', answer: 'a' }, { question: 'q', answer: 'a' }, 'user: q'],
  ['question-answer', { problem: 'q', solution: 'a' }, { problem: 'q', answer: 'a' }, 'user: q'],
  [
    'verl',
    {
      data_source: 'd',
      prompt: [user],
      ability: 'math',
      reward_model: { style: 'rule', ground_truth: '4' },
      extra_info: {},
    },
    {
      data_source: 'd',
      prompt: [user],
      ability: 'math',
      reward_model: { style: 'rule', ground_truth: '4' },
      extra_info: {},
      answer: '4',
    },
    'user: hi',
  ],
  ['text', { text: 't' }, { text: 't' }, null],
  ['unknown', { a: 1 }, { a: 1 }, null],
]

describe('detectShape', () => {
  test.each(cases)('%s %j', (id, row, mapped, prompt) => {
    const shape = detectShape([row, row])
    expect(shape.id).toBe(id)
    const item = mapItem({ row, number: 1, line: 1 }, shape.mapping)
    expect(isProblem(item) ? item : { ...item.row }).toEqual(mapped)
    if (isProblem(item) || shape.prompt === null) expect(prompt).toBeNull()
    else
      expect(previewPrompts([item.row], shape.prompt, null)).toEqual([{ row: 0, text: prompt, tokens: null }])
    if (shape.answer !== null) expect(mapped).toHaveProperty(shape.answer)
  })

  test('nulls and empty lists do not hide a column’s kind', () => {
    const rows = [{ messages: [] }, { messages: null }, { messages: [user, reply] }]
    expect(detectShape(rows)).toMatchObject({ id: 'conversation', isConversational: true })
  })

  test('what most conversations end with decides', () => {
    const [asked, answered] = [{ messages: [user] }, { messages: [user, reply] }]
    expect(detectShape([asked, asked, answered]).mapping).toEqual([
      { kind: 'column', from: 'messages', to: 'prompt' },
    ])
    expect(detectShape([asked, answered, answered]).mapping).toEqual([
      { kind: 'last-message', column: 'messages' },
    ])
  })

  test('a column of mixed kinds is no prompt', () => {
    expect(detectShape([{ prompt: 'a' }, { prompt: 3 }]).id).toBe('unknown')
    expect(detectShape([]).id).toBe('unknown')
  })
})

describe('mapItem', () => {
  test.each([
    [{ a: 1 }, [{ kind: 'column', from: 'b', to: 'c' }], 'it has no column “b”'],
    [
      { c: 'x' },
      [{ kind: 'chat', column: 'c' }],
      'its column “c” is not a conversation: it is not a list of messages',
    ],
    [
      { c: [{ from: 1 }] },
      [{ kind: 'chat', column: 'c' }],
      'its column “c” is not a conversation: message 1 has no role',
    ],
    [
      { c: [user] },
      [{ kind: 'last-message', column: 'c' }],
      'its column “c” does not end with an assistant message',
    ],
    [{ c: [reply] }, [{ kind: 'last-message', column: 'c' }], 'its column “c” has nothing before the answer'],
    [
      { chosen: [reply], rejected: [other] },
      [{ kind: 'shared-prompt' }],
      '“chosen” and “rejected” begin with different messages',
    ],
  ] as const)('%j %j', (row, mapping, sentence) => {
    expect(mapItem({ row, number: 7, line: 9 }, [...mapping])).toEqual({ number: 7, line: 9, sentence })
  })

  test('the row given is left as it is, and a dot in a name is found before a path', () => {
    const row = { 'a.b': 1, a: { b: 2 } }
    const item = mapItem({ row, number: 1, line: null }, [{ kind: 'column', from: 'a.b', to: 'c' }])
    expect(item).toMatchObject({ row: { a: { b: 2 }, c: 1 } })
    expect(row).toEqual({ 'a.b': 1, a: { b: 2 } })
  })
})

describe('what a proposal says', () => {
  const said = (...rows: readonly DataRow[]) => {
    const { id, evidence, mapping, leftAside, doubts } = detectShape(rows)
    return { id, evidence, mapping, notes: [...leftAside.map(({ text }) => text), ...doubts] }
  }

  test('that the chat template gets variables row by row, where the prompt is messages', () => {
    const switches = { chat_template_kwargs: { enable_thinking: false } }
    expect(said({ messages: [user, reply], ...switches }).notes).toEqual([
      '“chat_template_kwargs” gives the chat template variables of its own in each row (“enable_thinking”); they win over `data.templateVariables` of a run.',
    ])
    expect(said({ prompt: 'p', completion: 'c', ...switches }).notes).toEqual([
      '“chat_template_kwargs” (variables of the chat template, which gets them row by row where the prompt is messages) is not used.',
    ])
  })

  test('by what it was recognised, as the file spells it', () => {
    expect(said({ ' Question': 'q', ANSWER: 'a' }).evidence).toBe('the columns “ Question” and “ANSWER”')
  })

  test('one row without a conversation is named by its number', () => {
    const rows = [{ messages: [user, reply] }, { messages: null }, { messages: [{ role: 'user' }] }]
    expect(detectShape(rows).doubts).toContain(
      '“messages” holds conversations, except in 1 of the first 3 rows: in row 3 message 1 has no content. Correct or remove these rows.',
    )
  })

  test('an unknown role is no reason to take an answer for a prompt', () => {
    const row = { messages: [user, { role: 'narrator', content: 'Once.' }] }
    expect(said(row)).toMatchObject({
      id: 'unknown',
      notes: ['“messages” holds conversations that end with the role “narrator”, which is unknown.'],
    })
  })

  test.each<[DataRow, string]>([
    [
      { prompt: 'p', completion: 'c', images: ['a.png'] },
      '“images” (images; only text is read) is not used.',
    ],
    [
      { prompt: 'p', context: 'about', answer: 'a' },
      '“context” (what the question is about) is not used: “prompt” is read as the whole prompt.',
    ],
    [
      { prompt: 'p', answer: 'a', weight: 0.5 },
      '“weight” (how much a row counts) is not used: every row counts alike.',
    ],
    [
      { question: 'q', answer: ['a', 'b'] },
      '“answer” is not text, so rewards that compare with a single answer cannot be used.',
    ],
    [
      { question: 'q', answer: 'So #### 4' },
      '“answer” holds whole solutions: rewards compare with what comes after #### or inside \\boxed{}.',
    ],
    [
      { prompt: 'p', chosen: 'a', rejected: 'a' },
      'In 1 of the first 1 rows “chosen” and “rejected” are the same: they teach nothing.',
    ],
    [
      { problem: 'q', answer: 'a', messages: [user, reply] },
      'It could also be read as question and answer: the columns “problem” and “answer”.',
    ],
    [
      { turns: [{ role: 'user', content: 7 }] },
      '“turns” is nearly a conversation, but message 1 has a content that is neither text nor a list of parts.',
    ],
    [
      { chat: "[{'role': 'user', 'content': hi()}]" },
      '“chat” holds a conversation in Python’s notation that cannot be read: write it as JSON with json.dumps or to_json.',
    ],
  ])('%j', (row, sentence) => {
    expect(said(row).notes).toContain(sentence)
  })

  test('a column that the prompt already holds is not left aside', () => {
    const prompt = [{ role: 'system', content: 'Be brief.' }, user]
    expect(said({ prompt, system: 'Be brief.', answer: 'a' })).toMatchObject({ mapping: [], notes: [] })
  })

  test('choices count from 0 unless a number can only count from 1', () => {
    const row = { question: 'Even?', choices: ['1', '2'], answer: 1 }
    expect(said(row).mapping[0]).toMatchObject({ kind: 'choices', first: 0 })
    expect(said(row, { ...row, answer: 2 }).mapping[0]).toMatchObject({ kind: 'choices', first: 1 })
  })
})

describe('pairs of marked completions', () => {
  const rows = [
    { prompt: 'p', completion: 'good', label: true },
    { prompt: 'q', completion: 'only', label: true },
    { prompt: 'p', completion: 'bad', label: false },
    { prompt: 'p', completion: 'worse', label: false },
    { prompt: 'r', completion: 'same', label: true },
    { prompt: 'r', completion: 'same', label: false },
    { prompt: 's', completion: 'x', label: 'maybe' },
  ]

  test('each good one with a bad one to the same prompt; what is left is named', () => {
    const mapper = new RowMapper([{ kind: 'pairs', label: 'label' }])
    const items = rows.map((row, at) => ({ row, number: at + 1, line: at + 1 }))
    const mapped = [...items.flatMap((item) => mapper.take(item)), ...mapper.end()]
    expect(
      mapped.map((item) => (isProblem(item) ? `${item.number}: ${item.sentence}` : { ...item.row })),
    ).toEqual([
      { prompt: 'p', chosen: 'good', rejected: 'bad' },
      '6: the same completion to its prompt is marked both good and bad',
      '7: its column “label” marks it neither good nor bad',
      '2: its prompt has no bad completion left to pair it with',
      '4: its prompt has no good completion left to pair it with',
    ])
  })
})

function warnings(experience: ExperienceKind, ...train: DataRow[]): string[] {
  const { data } = parseRunConfig({ model: 'm', data: { train: 'd.jsonl' } })
  const places = { train: [...train.keys()], heldOut: [] }
  const found = columnWarnings({ data, rewards: [] }, experience, { train, heldOut: [], places })
  return found.map(({ message }) => message)
}

describe('columnWarnings', () => {
  test('what neither prompt nor rewards read is named before a run', () => {
    expect(warnings('rollout', { prompt: 'p', system: 's' })).toEqual([
      '“system” (instructions for the model) is not used: neither `data.prompt` nor a reward names it.',
    ])
    expect(warnings('rollout', { prompt: 'p', lang: 'en' }, { prompt: 'p', lang: 'de' })).toEqual([
      '“lang” (a language) is not used: neither `data.prompt` nor a reward names it.',
    ])
    expect(warnings('preferences', { prompt: 'p', chosen: 'a', rejected: 'a' })).toEqual([
      '1 of 1 rows have the same chosen and rejected answer: they teach nothing.',
    ])
  })

  test('what is learned, and of which rows, is said before a run', () => {
    const row = { prompt: [user, reply, user], completion: 'c</s>' }
    expect(warnings('demonstrations', { ...row, split: 'train' }, { ...row, split: 'test' })).toEqual([
      '“split” marks 1 of the first 2 rows as “test”. They are rows like all others and are trained on, too: write them to a file of their own, which `data.heldOut` of a run can name.',
      '“completion” ends with a mark of a chat template (</s>). A run adds the end of the turn itself, so this mark counts as part of the text: remove it.',
      'In 2 of 2 rows “prompt” holds messages of the assistant: they are read, and only “completion” is learned.',
    ])
    expect(warnings('rollout', row)).toEqual([])
  })

  test('a prompt that ends with its answer is named before completions are generated', () => {
    const [first, second] = [
      [user, reply],
      [user, other],
    ].map((messages) => ({ prompt: messages }))
    const sentence =
      'In 2 of 2 rows “prompt” ends with a message of the assistant, with which every completion of a run begins. If it is the whole answer, call the column “messages” and import the data with the columns mapped (--remap), which takes it off.'
    expect(warnings('rollout', first ?? {}, second ?? {})).toEqual([sentence])
    const doubts = detectShape([first ?? {}, second ?? {}]).doubts
    expect(doubts).toEqual([sentence.replace('of 2 rows', 'of the first 2 rows')])
    const begun = { role: 'assistant', content: '<think>' }
    expect(warnings('rollout', { prompt: [user, begun] }, { prompt: [reply, user, begun] })).toEqual([])
  })

  test('answers are read before a run is made', () => {
    expect(() => warnings('demonstrations', { prompt: 'p', messages: [user, reply] })).toThrow(
      'Row 1 of the data gives no answer: it has no column “completion”; its columns are “prompt”, “messages”.',
    )
    expect(() =>
      warnings('preferences', { prompt: 'p', chosen: [user, reply], rejected: [user, other] }),
    ).toThrow('column “chosen” holds 2 messages and not one answer')
  })

  test('answers marked as bad are not imitated', () => {
    const row = { prompt: 'p', completion: 'c' }
    expect(() => warnings('demonstrations', { ...row, label: true }, { ...row, label: false })).toThrow(
      'SFT would imitate the bad ones',
    )
    expect(warnings('demonstrations', { ...row, label: true })).toEqual([
      '“label” (which answers are good) is not used: neither `data.prompt` nor a reward names it.',
    ])
  })

  test('answers are learned by their marks, which every row has to have', () => {
    const row = { prompt: 'p', completion: 'c' }
    expect(warnings('marks', { ...row, label: true }, { ...row, label: '0' })).toEqual([])
    expect(warnings('marks', { ...row, kto_tag: false }, { ...row, kto_tag: false })).toEqual([
      '“kto_tag” marks every row as bad: there is nothing to tell apart.',
    ])
    expect(() => warnings('marks', { ...row, label: true }, { ...row, label: 'perhaps' })).toThrow(
      'Row 2 of the data is marked neither good nor bad: column “label” holds "perhaps".',
    )
    expect(() => warnings('marks', row)).toThrow('it has no column “label”')
    expect(warnings('marks', { prompt: 'p', chosen: 'a', rejected: 'a' })).toEqual([
      '1 of 1 rows have the same chosen and rejected answer: they teach nothing.',
    ])
  })

  test('SFT imitates no bad ones, whatever their mark is called', () => {
    const row = { prompt: 'p', completion: 'c' }
    const rows = ['approved', 'rejected'].map((quality) => ({ ...row, quality }))
    expect(() => warnings('demonstrations', ...rows)).toThrow(
      'The column “quality” marks answers as good or bad',
    )
  })
})

test('what files of people hold beside the usual is used or named', () => {
  const marked = { prompt: 'p', completion: 'c', label: 'True' }
  expect(detectShape([marked, { ...marked, label: 'false' }]).id).toBe('unpaired-preference')
  expect(detectShape([{ Body: 'b', Question: 'q', Answer: 1 }]).mapping[0]).toMatchObject({
    parts: ['Body', 'Question'],
  })
  const listed = { question: 'q', choices: '["x", "y"]', answer: 1 }
  const item = mapItem(
    { row: listed, number: 1, line: 1 },
    detectShape([listed, { ...listed, answer: 0 }]).mapping,
  )
  expect(item).toMatchObject({ row: { choices: 'A. x\nB. y', answer: 'B' } })
  expect(
    detectShape([
      { question: 'q', answer: '3' },
      { question: 'q', answer: 4 },
    ]).doubts,
  ).toEqual([])
  const thinking = { messages: [user, { ...reply, reasoning_content: 'hm' }] }
  const mapped = mapItem({ row: thinking, number: 1, line: 1 }, detectShape([thinking]).mapping)
  expect(mapped).toMatchObject({ row: { completion: [{ ...reply, reasoning_content: 'hm' }] } })
})
