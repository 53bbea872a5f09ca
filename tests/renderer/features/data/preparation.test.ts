import { describe, expect, test } from 'vitest'
import { runConfigSchema } from '#shared/runConfig.ts'
import { cutBeyond, defaultSplit, parsePreparation, splitFor } from '#renderer/parts/preparation.ts'
import { detectedPrompt, insertAt, placeholders, promptProblem, toKind } from '#renderer/parts/promptForms.ts'
import { splitProblem, withAmount, withKind } from '#renderer/features/data/SplitTab.tsx'

test('few rows are split by a number, so that one is left for validation', () => {
  expect([2, 5, 24].map(splitFor)).toEqual([1, 1, 2].map((rows) => ({ rows, seed: 42 })))
  expect(splitFor(50)).toEqual(defaultSplit)
})

describe('what is stored', () => {
  test('is read as it was written, in the terms of a run config', () => {
    const stored = {
      prompt: { messages: [{ role: 'user', content: '{question}' }] },
      maxPromptTokens: 64,
      heldOut: { share: 0.1, seed: 7 },
    }
    const read = parsePreparation(JSON.parse(JSON.stringify(stored)))
    expect(read).toEqual(stored)
    const data = runConfigSchema.shape.data.parse({ train: 'rows.jsonl', ...read })
    expect(data).toMatchObject(stored)
  })

  test.each([
    null,
    'text',
    { prompt: { column: '' }, maxPromptTokens: 0, heldOut: { share: 2, seed: 1 } },
    { prompt: { messages: [] }, maxPromptTokens: 1.5, heldOut: { rows: 0, seed: 1 } },
    { prompt: { messages: [{ role: 'user' }] }, heldOut: { share: 0.1 } },
  ])('what no run could read counts as undecided: %j', (stored) => {
    expect(parsePreparation(stored)).toEqual({ prompt: null, maxPromptTokens: null, heldOut: null })
  })
})

describe('forms of a prompt', () => {
  test('what was written is kept from form to form', () => {
    const text = toKind({ messages: [{ role: 'user', content: 'Q: {question}' }] }, 'template', ['question'])
    expect(text).toEqual({ template: 'Q: {question}' })
    expect(toKind(text, 'column', ['id', 'question'])).toEqual({ column: 'question' })
    expect(toKind({ column: 'question' }, 'messages', ['question'])).toEqual({
      messages: [{ role: 'user', content: '{question}' }],
    })
  })

  test('says what would make no prompt', () => {
    expect(promptProblem({ template: '{question}' }, ['question'])).toBeNull()
    expect(promptProblem({ template: '{q}' }, ['question'])).toBe('There is no column “q”.')
    expect(promptProblem({ template: 'the same' }, ['question'])).toMatch(/No column is used/)
    expect(promptProblem({ messages: [{ role: 'user', content: ' ' }] }, ['question'])).toBe(
      'A text is empty.',
    )
  })

  test('a column is put in the place of what is selected', () => {
    expect(insertAt('Answer XX now', '{q}', { from: 7, to: 9 })).toEqual({
      text: 'Answer {q} now',
      cursor: 10,
    })
  })
})

test('placeholders are found once each, doubled braces are none', () => {
  expect(placeholders('{a} {{b}} {c d} {a}')).toEqual(['a', 'c d'])
})

test('a detected column of texts is asked in a message, one of messages stands for itself', () => {
  const columns = [
    { name: 'prompt', kinds: { text: 4, null: 1 } },
    { name: 'chat', kinds: { list: 5 } },
  ]
  expect(detectedPrompt({ column: 'prompt' }, columns)).toEqual({
    messages: [{ role: 'user', content: '{prompt}' }],
  })
  expect(detectedPrompt({ column: 'chat' }, columns)).toEqual({ column: 'chat' })
  expect(detectedPrompt({ template: 'Q: {prompt}' }, columns)).toEqual({ template: 'Q: {prompt}' })
  expect(detectedPrompt(null, columns)).toBeNull()
})

describe('rules of a split', () => {
  test('a usual amount, never all rows', () => {
    expect(withKind('share', 3, 100)).toEqual({ share: 0.1, seed: 3 })
    expect(withKind('rows', 3, 100)).toEqual({ rows: 10, seed: 3 })
    expect(withKind('rows', 3, 2)).toEqual({ rows: 1, seed: 3 })
    expect(withKind('none', 3, 100)).toBeNull()
  })

  test('a share is typed in percent', () => {
    expect(withAmount({ share: 0.1, seed: 3 }, 12.5)).toEqual({ share: 0.125, seed: 3 })
    expect(withAmount({ share: 0.1, seed: 3 }, 100)).toBeNull()
    expect(withAmount({ rows: 1, seed: 3 }, 1.5)).toBeNull()
  })

  test('something must be left to train on', () => {
    expect(splitProblem({ rows: 10, seed: 1 }, 10)).toBe('Leave some of the 10 rows to train on.')
    expect(splitProblem({ rows: 9, seed: 1 }, 10)).toBeNull()
    expect(splitProblem({ share: 0.5, seed: 1 }, 1)).not.toBeNull()
  })
})

describe('cutBeyond', () => {
  test('a row as long as the limit stays', () => {
    const lengths = [
      [10, 1],
      [11, 2],
      [12, 3],
    ] as const
    expect(cutBeyond(lengths, 11)).toEqual({ rows: 3, share: 0.5 })
    expect(cutBeyond(lengths, 12)).toEqual({ rows: 0, share: 0 })
    expect(cutBeyond(lengths, 9)).toEqual({ rows: 6, share: 1 })
    expect(cutBeyond([], 5)).toEqual({ rows: 0, share: 0 })
  })

  test('one very long row does not take the others along', () => {
    expect(
      cutBeyond(
        [
          [12, 50],
          [80_003, 1],
        ],
        112,
      ),
    ).toEqual({ rows: 1, share: 1 / 51 })
  })
})
