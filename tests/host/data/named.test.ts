/** Doubts that are named, and advice for what is not recognised. */
import { describe, expect, test } from 'vitest'
import type { DataRow } from '#host/data/dataFile.ts'
import { mapItem } from '#host/data/mapping.ts'
import { detectShape } from '#host/data/shapes.ts'

const user = { role: 'user', content: 'q' }
const reply = { role: 'assistant', content: 'a' }
const doubts = (...rows: readonly DataRow[]) => detectShape(rows).doubts

describe('advice names the column that asks', () => {
  test('not a longer one with reasons or a wrong passage', () => {
    const long = 'so '.repeat(99)
    expect(detectShape([{ problem: 'p?', deepseek_reasoning: long, source: 'numina' }]).template).toBe(
      '{problem}',
    )
    expect(detectShape([{ query: 'q?', positive: long, negative: long }]).template).toBe('{query}')
    expect(detectShape([{ topic: 'a topic', positive: long }]).template).toBe('{topic}')
  })

  test('OpenAI’s evals: messages in “input”, the answer in “ideal”', () => {
    const found = detectShape([{ input: [user], ideal: '0' }])
    expect(found).toMatchObject({ id: 'conversation', prompt: { column: 'prompt' }, answer: 'answer' })
    expect(mapItem({ row: { input: [user], ideal: '0' }, number: 1, line: 1 }, found.mapping)).toMatchObject({
      row: { prompt: [user], answer: '0' },
    })
  })
})

test('a chosen text and a rejected message make a pair', () => {
  const row = { prompt: [user], chosen: 'text', rejected: [reply] }
  expect(detectShape([row])).toMatchObject({ id: 'preference', prompt: { column: 'prompt' }, leftAside: [] })
})

test('a letter in “chosen” names the better of two columns', () => {
  const rows = ['B', 'A'].map((chosen) => ({ prompt: 'p', chosen, A: 'first one', B: 'second one' }))
  const found = detectShape(rows)
  expect(found.id).toBe('compared-answers')
  expect(mapItem({ row: rows[0]!, number: 1, line: 1 }, found.mapping)).toMatchObject({
    row: { chosen: 'second one', rejected: 'first one' },
  })
})

describe('is said', () => {
  test('that a prompt is a text here and a conversation there', () => {
    expect(doubts({ prompt: [user], answer: '0' }, { prompt: 'q', answer: '1' })).toEqual([
      '“prompt” holds texts in 1 and conversations in 1 of the first 2 rows. A run with {"column": "prompt"} as `data.prompt` reads both, but gives the template of the model to conversations alone: write all of them as lists of {role, content}.',
    ])
  })

  test.each([
    [{ prompt: 'p', completion: 'yes<|im_end|>' }, 'completion', '<|im_end|>'],
    [{ question: 'p', answer: 'yes </s>' }, 'answer', '</s>'],
    [
      { prompt: [user], completion: [{ ...reply, content: 'yes<end_of_turn>\n' }] },
      'completion',
      '<end_of_turn>',
    ],
    [{ prompt: 'p', chosen: 'c<|im_end|>', rejected: 'r' }, 'chosen', '<|im_end|>'],
  ])('that answers end with a mark: %j', (row, column, mark) => {
    expect(doubts(row)).toEqual([
      `“${column}” ends with a mark of a chat template (${mark}). A run adds the end of the turn itself, so this mark counts as part of the text: remove it.`,
    ])
  })

  test('that of several answers only the last is learned', () => {
    expect(doubts({ messages: [user, reply, user, reply] }, { messages: [user, reply] })).toEqual([
      'In 1 of the first 2 rows “messages” has several messages of the assistant: only the last is learned; those before it belong to the prompt.',
    ])
  })

  test('that rows marked for testing are trained on', () => {
    const rows = ['train', 'test'].map((split) => ({ prompt: 'p', answer: '1', split }))
    expect(doubts(...rows)).toEqual([
      '“split” marks 1 of the first 2 rows as “test”. They are rows like all others and are trained on, too: write them to a file of their own, which `data.heldOut` of a run can name.',
    ])
    expect(doubts(...rows.slice(1))).toEqual([])
  })
})
