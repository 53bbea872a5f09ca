/** Data sets as hubs have them whose pairs are not called chosen and rejected. */
import { describe, expect, test } from 'vitest'
import { isProblem, type DataRow } from '#host/data/dataFile.ts'
import { mapItem } from '#host/data/mapping.ts'
import { detectShape } from '#host/data/shapes.ts'

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })

/** The pair that a row becomes, or why it becomes none. */
function pairs(...rows: readonly DataRow[]): unknown[] {
  const { mapping } = detectShape(rows)
  return rows.map((row) => {
    const item = mapItem({ row, number: 1, line: 1 }, mapping)
    return isProblem(item) ? item.sentence : [item.row['prompt'], item.row['chosen'], item.row['rejected']]
  })
}

const said = (...rows: readonly DataRow[]): string[] => {
  const { leftAside, doubts } = detectShape(rows)
  return [...leftAside.map(({ text }) => text), ...doubts]
}

describe('two answers and what prefers one of them', () => {
  test('a signed strength, as HelpSteer2 has it', () => {
    const row = { prompt: 'p', response_1: 'one', response_2: 'two' }
    const rows = [-3, 1, 0].map((preference_strength) => ({ ...row, preference_strength }))
    expect(pairs(...rows)).toEqual([
      ['p', 'one', 'two'],
      ['p', 'two', 'one'],
      'neither answer is preferred: “preference_strength” is 0',
    ])
    expect(said(...rows)).toEqual([
      'Negative numbers in “preference_strength” are read as “response_1” being better, positive ones as “response_2”.',
      'In 1 of the first 3 rows neither answer is preferred; they are left out when the columns are mapped.',
    ])
    expect(
      pairs(...rows.map((each) => ({ ...each, preference_strength: String(each.preference_strength) }))),
    ).toEqual(pairs(...rows))
  })

  test('the number of the better response, before that of the safer one', () => {
    const row = {
      prompt: 'p',
      response_0: 'zero',
      response_1: 'one',
      better_response_id: 1,
      safer_response_id: 0,
    }
    expect(pairs(row)).toEqual([['p', 'one', 'zero']])
    expect(said(row)).toEqual([
      '“safer_response_id” also compares the answers and disagrees in 1 of the first 1 rows; not used.',
    ])
    const { better_response_id: _better, ...safer } = row
    expect(pairs(safer)).toEqual([['p', 'zero', 'one']])
  })

  test('the winner of two conversations that begin alike', () => {
    const battle = (winner: string, ...more: object[]) => ({
      winner,
      model_a: 'm',
      model_b: 'n',
      conversation_a: [user('q'), assistant('a'), ...more],
      conversation_b: [user('q'), assistant('b'), ...more],
    })
    expect(pairs(battle('model_b'), battle('tie'), battle('model_a', user('r'), assistant('s')))).toEqual([
      [[user('q')], [assistant('b')], [assistant('a')]],
      'neither answer is preferred: “winner” is “tie”',
      '“chosen” or “rejected” goes on for several turns after what both have in common',
    ])
  })

  test('a named answer, before scores that say otherwise', () => {
    const row = { question: 'q', answer_a: 'one', answer_b: 'two', score_a: 3, score_b: 9, winner: 'a' }
    expect(pairs(row)).toEqual([['q', 'one', 'two']])
    expect(said(row)).toEqual([
      '“score_a” and “score_b” also compare the answers and disagree in 1 of the first 1 rows; not used.',
    ])
  })

  test('a mark for each answer, and texts in lists of one', () => {
    const row = { prompt: '["q"]', response_a: '["a"]', response_b: '["b"]' }
    const won = { winner_model_a: '0', winner_model_b: '1', winner_tie: '0' }
    const long = { ...row, response_a: '["a", "c"]', ...won }
    expect(pairs({ ...row, ...won }, long)).toEqual([
      ['q', 'b', 'a'],
      'its column “response_a” is a list of 2 texts; a list of one is read',
    ])
  })

  test('scores: the higher is better; ranks: the lower', () => {
    const row = { question: 'q', answer_0: 'zero', answer_1: 'one' }
    expect(pairs({ ...row, score_0: 0.5, score_1: 0.25 })).toEqual([['q', 'zero', 'one']])
    expect(pairs({ ...row, rank_0: 2, rank_1: 1 })).toEqual([['q', 'one', 'zero']])
  })

  test.each<[readonly [string, string], readonly unknown[]]>([
    [
      ['output_1', 'output_2'],
      [1, 2, 'tie'],
    ],
    [
      ['response_0', 'response_1'],
      [0, 1, 'tie'],
    ],
    [
      ['output_1', 'output_2'],
      ['1', '2', ''],
    ],
  ])('a preference that holds the marks of %j: %j', ([first, second], [a, b, neither]) => {
    const rows = [a, b, neither].map((preference) => ({
      instruction: 'q',
      [first]: 'one',
      [second]: 'two',
      preference,
    }))
    expect(pairs(...rows).slice(0, 2)).toEqual([
      ['q', 'one', 'two'],
      ['q', 'two', 'one'],
    ])
    expect(pairs(...rows)[2]).toMatch(/^(?:neither answer is preferred|its column “preference” is empty)/)
    expect(said(...rows)).toContain(
      `“preference” is read as naming the better answer: ${String(a)} is “${first}”, ${String(b)} is “${second}”.`,
    )
  })

  test('a preference that names the answer', () => {
    const row = { prompt: 'p', response_a: 'one', response_b: 'two' }
    expect(pairs({ ...row, preference: 'B' }, { ...row, preference: 'A' })).toEqual([
      ['p', 'two', 'one'],
      ['p', 'one', 'two'],
    ])
    expect(pairs({ ...row, preference: 'response_b' })).toEqual([['p', 'two', 'one']])
  })

  test.each<[string, ...DataRow[]]>([
    ['a strength', { preference: 1 }, { preference: 3 }],
    ['one of three', { preference: 0 }, { preference: 1 }, { preference: 2 }],
    ['one side alone', { preference: 1 }, { preference: 1 }],
    ['a mark and its contrary', { preference: 0 }, { preference: 1 }],
    ['parts of one', { preference: 0.2 }, { preference: 0.9 }],
  ])('asks where a preference may be %s', (_, ...judges) => {
    const rows = judges.map((judge) => ({ prompt: 'p', response_1: 'one', response_2: 'two', ...judge }))
    expect(detectShape(rows).id).toBe('prompt-only')
    expect(said(...rows)).toContain(
      '“preference” (which answer is better) is not used: its values do not say clearly which.',
    )
  })

  test.each<[string, DataRow]>([
    ['nothing', {}],
    ['numbers that count otherwise than the columns', { winner: 0 }],
    ['a label that may mean anything', { label: 1 }],
    ['words that are not understood', { winner: 'first' }],
    ['a sign that is not documented', { preference: -1 }],
  ])('asks where %s says which is better', (_, judge) => {
    const row = { prompt: 'p', response_1: 'one', response_2: 'two', ...judge }
    expect(detectShape([row]).id).toMatch(/^prompt-(?:only|answer)$/)
    expect(said(row)).toContain(
      '“response_1” and “response_2” are nearly preference pairs, but no column says clearly which is better. To train on pairs, name them “chosen” and “rejected”, or add a column “winner” that holds “response_1” or “response_2”.',
    )
  })

  test('the advice works', () => {
    const row = { prompt: 'p', response_1: 'one', response_2: 'two', winner: 'response_2' }
    expect(pairs(row)).toEqual([['p', 'two', 'one']])
  })

  test('possible answers of a question are no pair', () => {
    const row = { question: 'q', answer_a: '1', answer_b: '2', answer_c: '3', winner: 'a' }
    expect(detectShape([row]).id).not.toBe('compared-answers')
  })
})

describe('lists of answers', () => {
  test('with the place of each beside them; an order is named', () => {
    const row = { prompt: 'p', responses: ['five', '4', 'maybe 4'] }
    expect(pairs({ ...row, rank: [3, 1, 2] })).toEqual([['p', '4', 'five']])
    expect(detectShape([{ ...row, ranking: [1, 2, 0] }]).id).toBe('prompt-only')
    expect(said({ ...row, ranking: [1, 2, 0] })).toContain(
      '“ranking” (an order of answers) is not used: no column of answers fits it.',
    )
  })

  test('ranked, after a dialogue in one text, as Nectar has them', () => {
    const answers = [
      { answer: 'x', model: 'm', rank: 2 },
      { answer: 'y', model: 'n', rank: 1 },
      { answer: 'z', model: 'o', rank: 3 },
    ]
    const prompt = '\n\nHuman: hi\n\nAssistant: yes?\n\nHuman: q\n\nAssistant: '
    expect(pairs({ prompt, answers, turns: 2 })).toEqual([
      [[user('hi'), assistant('yes?'), user('q')], 'y', 'z'],
    ])
  })

  test('with scores inside or beside', () => {
    const completions = [
      { response: 'x', overall_score: 2 },
      { response: 'y', overall_score: 7 },
    ]
    expect(pairs({ instruction: 'p', completions })).toEqual([['p', 'y', 'x']])
    expect(pairs({ input: 'p', generations: ['x', 'y'], ratings: [5, 1] })).toEqual([['p', 'x', 'y']])
    expect(
      pairs(
        { input: 'p', generations: ['x', 'y'], ratings: [5, 1] },
        { input: 'p', generations: ['x', 'y'], ratings: [3, 3] },
      )[1],
    ).toBe('its column “generations” has no answer that is better than another')
  })

  test('without an order they are named', () => {
    expect(said({ prompt: 'p', generations: ['x', 'y'] })).toEqual([
      expect.stringMatching(/^“generations” holds several answers/),
    ])
  })
})

test('ratings beside pairs are named, and counted where they contradict', () => {
  const pair = { prompt: 'p', chosen: 'a', rejected: 'b' }
  const rows = [
    [5, 1],
    [2, 3],
    [4, 4],
  ].map(([chosen, rejected]) => ({
    ...pair,
    'chosen-rating': chosen,
    'rejected-rating': rejected,
  }))
  expect(said(...rows)).toEqual([
    '“chosen-rating” (how good an answer is) is not used: no algorithm learns from it.',
    '“rejected-rating” (how good an answer is) is not used: no algorithm learns from it.',
    'In 1 of the first 3 rows “chosen-rating” is lower than “rejected-rating”: those pairs teach the answer that was rated worse.',
    'In 1 of the first 3 rows “chosen-rating” equals “rejected-rating”: those pairs are ties.',
  ])
  expect(said({ prompt: 'p', response: 'a', helpfulness: 3 })).toEqual([
    '“helpfulness” (how good an answer is) is not used: no algorithm learns from it.',
  ])
})

test('conversations in Python’s notation are pairs as in JSON', () => {
  const row = {
    prompt: "[{'role': 'user', 'content': \"It's\\n5\"}]",
    chosen: "[{'content': 'A', 'role': 'assistant'}]",
    rejected: "[{'content': 'B', 'role': 'assistant'}]",
  }
  expect(pairs(row)).toEqual([[[user("It's\n5")], [assistant('A')], [assistant('B')]]])
})

test.each<[DataRow['options']]>([
  [{ A: 'x', B: 'y', C: null }],
  ['{"A": "x", "B": "y"}'],
  ["{'A': 'x', 'B': 'y'}"],
  [
    [
      { key: 'A', value: 'x' },
      { key: 'B', value: 'y' },
    ],
  ],
  ["['x', 'y']"],
])('choices as %j', (options) => {
  const row = { question: 'q', options, answer: 'y' }
  const item = mapItem({ row, number: 1, line: 1 }, detectShape([row]).mapping)
  expect(item).toMatchObject({ row: { prompt: [user('q\n\nA. x\nB. y')], answer: 'B' } })
})

test('SQuAD 2’s questions without an answer are counted and left out', () => {
  const row = { context: 'c', question: 'q', answers: { text: ['a'] } }
  const without = { ...row, answers: { text: [] } }
  const shape = detectShape([row, without])
  expect(shape.doubts).toEqual([
    expect.stringMatching(/^In 1 of the first 2 rows “answers” is an empty list/),
  ])
  expect(mapItem({ row: without, number: 1, line: 1 }, shape.mapping)).toMatchObject({
    sentence: 'its column “answers” holds nothing at “text.0”',
  })
})

test('unknown columns are offered as a template', () => {
  expect(detectShape([{ id: 'x', body_text: 'What is it?' }])).toMatchObject({
    id: 'unknown',
    template: '{body_text}',
  })
  expect(detectShape([{ nums: [1] }])).toMatchObject({ template: null })
  expect(detectShape([{ prompt: 'p' }])).toMatchObject({ template: null })
})

test.each([
  ['good_response', 'bad_response'],
  ['response_chosen', 'response_rejected'],
  ['preferred_response', 'dispreferred_response'],
])('a better answer called %s and a worse called %s', (chosen, rejected) => {
  const row = { prompt: 'q', [chosen]: 'one', [rejected]: 'two' }
  expect(pairs(row)).toEqual([['q', 'one', 'two']])
  expect(said({ ...row, margin: -2 })).toContain(
    'In 1 of the first 1 rows “margin” is negative: those pairs teach the answer that was rated worse.',
  )
})

describe('OpenAI’s format of preferences', () => {
  const row = (more: object = {}) => ({
    input: { messages: [user('q')], parallel_tool_calls: true, ...more },
    preferred_output: [assistant('good')],
    non_preferred_output: [assistant('bad')],
  })
  test('the prompt is in its input', () => {
    expect(detectShape([row()])).toMatchObject({
      id: 'preference',
      evidence: 'the columns “input.messages”, “preferred_output” and “non_preferred_output”',
      leftAside: [],
      doubts: [],
    })
    expect(pairs(row())).toEqual([[[user('q')], [assistant('good')], [assistant('bad')]]])
  })

  test('answers of several turns are named', () => {
    const long = { ...row(), preferred_output: [assistant('a'), user('b'), assistant('c')] }
    expect(said(long)).toEqual([
      '“preferred_output” holds several messages: answers of several turns cannot be learned.',
    ])
  })

  test('functions that the model may call are named', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const [sentence] = said(row({ tools }), row())
    expect(sentence).toMatch(/^“input.tools” \(functions that the model may call/)
    expect(pairs(row({ tools }), row())).toHaveLength(2)
    const { mapping } = detectShape([row({ tools })])
    const item = mapItem({ row: row({ tools }), number: 1, line: 1 }, mapping)
    expect(item).toMatchObject({ row: { tools } })
  })
})
