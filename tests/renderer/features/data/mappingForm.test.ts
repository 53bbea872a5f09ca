import { describe, expect, test } from 'vitest'
import { mapItem, mappingSchema } from '#host/data/mapping.ts'
import { detectShape } from '#host/data/shapes.ts'
import { columnFacts, type DataRow } from '#renderer/parts/columnFacts.ts'
import {
  formOf,
  formProblems,
  mappingOf,
  promptOf,
  withTaking,
  type MappingForm,
} from '#renderer/features/data/mappingForm.ts'

const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })

/** The form that a person sees first for a file with this row, and what it rests on. */
function opened(row: DataRow) {
  const facts = columnFacts(Object.keys(row), [row])
  const shape = detectShape([row])
  return { facts, shape, form: formOf(shape, facts) }
}

/** The row as the host would import it. */
function imported(row: DataRow, form: MappingForm): DataRow | string {
  const mapping = mappingSchema.parse(mappingOf(form, columnFacts(Object.keys(row), [row])))
  const item = mapItem({ row: row, number: 1, line: 1 }, mapping)
  return 'row' in item ? { ...item.row } : item.sentence
}

const files: Readonly<Record<string, DataRow>> = {
  'question and answer': { question: '2 + 2?', solution: '4', level: 3 },
  'Alpaca, with input': { instruction: 'Add', input: '2 and 2', output: '4' },
  'verl, by dotted path': { prompt: [user('2 + 2?')], reward_model: { ground_truth: '4', style: 'rule' } },
  ShareGPT: {
    conversations: [
      { from: 'human', value: '2 + 2?' },
      { from: 'gpt', value: '4' },
    ],
  },
  'messages with a last answer': { messages: [user('2 + 2?'), assistant('4')], source: 'book' },
  'messages that wait for an answer': {
    messages: [user('2 + 2?'), assistant('4'), user('And 3?')],
    solution: '7',
  },
  'pairs that begin alike': {
    chosen: [user('2 + 2?'), assistant('4')],
    rejected: [user('2 + 2?'), assistant('5')],
  },
  'pairs after a question': { question: '2 + 2?', chosen: '4', rejected: '5' },
  'two answers and a winner': { prompt: '2 + 2?', response_1: '5', response_2: '4', winner: 'response_2' },
  'two conversations and a winner': {
    winner: 'model_a',
    conversation_a: [user('2 + 2?'), assistant('4')],
    conversation_b: [
      { from: 'human', value: '2 + 2?' },
      { from: 'gpt', value: '5' },
    ],
  },
  'ranked answers to a dialogue': {
    prompt: '\n\nHuman: 2 + 2?\n\nAssistant: ',
    answers: [
      { answer: '5', rank: 2 },
      { answer: '4', rank: 1 },
    ],
  },
  'lists of one text': {
    prompt: '["2 + 2?"]',
    response_a: '["4"]',
    response_b: '["5"]',
    winner_model_a: 1,
    winner_model_b: 0,
  },
  'prompt and completion': { prompt: '2 + 2?', completion: '4' },
  'unknown columns': { a: '1', b: '2' },
  'Alpaca with system and history': {
    instruction: 'Add',
    input: '2 and 2',
    output: '4',
    system: 'Be brief.',
    history: [['Hello', 'Hi']],
  },
  'ShareGPT with system, in another spelling': {
    system: 'Be brief.',
    conversation: [{ human: '2 + 2?', assistant: '4' }],
  },
  'multiple choice': { question: 'Even?', choices: ['1', '2'], answer: 1 },
  'choices in columns': { question: 'Even?', option_a: '1', option_b: '2', answer: 'B' },
  'a question about a passage, in a spreadsheet’s spelling': {
    Context: 'Two.',
    Question: 'How many?',
    Answer: '2',
  },
  'a prompt with a system column': { prompt: [user('2 + 2?')], system: 'Be brief.', solution: '4' },
  'pairs under other names': { question: '2 + 2?', response_j: '4', response_k: '5' },
  'HH-RLHF': { chosen: '\n\nHuman: 2 + 2?\n\nAssistant: 4', rejected: '\n\nHuman: 2 + 2?\n\nAssistant: 5' },
  'messages as text': { messages: JSON.stringify([user('2 + 2?'), assistant('4')]) },
  'a completion that is marked': { prompt: '2 + 2?', completion: '4', label: true },
}

describe('what is detected, as a form', () => {
  test.each(Object.entries(files))('%s: imports the same row as the proposal', (_, row) => {
    const { form, shape } = opened(row)
    const proposed = mapItem({ row: row, number: 1, line: 1 }, shape.mapping)
    expect(imported(row, form)).toEqual({ ...('row' in proposed ? proposed.row : {}) })
  })

  test('names the columns as the file has them, not as they will be', () => {
    const { form } = opened({ question: '2 + 2?', solution: '4' })
    expect(form.prompt).toEqual({ kind: 'column', column: 'question' })
    expect(form.answer).toBe('solution')
  })

  test('a prompt of several columns is one choice, left and taken again with all that belongs to it', () => {
    const row = { question: 'Even?', choices: ['1', '2'], answer: 1, system: 'Be brief.' }
    const { form, facts, shape } = opened(row)
    expect(form.taking).toEqual({ kind: 'messages', parts: ['question', 'choices'], system: 'system' })
    const left = withTaking(form, null, facts)
    expect(mappingOf(left, facts)).toEqual([])
    const proposed = mapItem({ row, number: 1, line: 1 }, shape.mapping)
    expect(imported(row, withTaking(left, form.taking, facts))).toEqual({
      ...('row' in proposed ? proposed.row : {}),
    })
  })
})

describe('mappingOf', () => {
  const row = { id: 7, question: '2 + 2?', final: '4', reward_model: { truth: '4' } }
  const { form, facts } = opened({ id: 7, question: '2 + 2?', final: '4', reward_model: { truth: '4' } })

  test('the answer is called answer, whatever it came from', () => {
    expect(imported(row, { ...form, answer: 'final' })).toEqual({
      id: 7,
      question: '2 + 2?',
      reward_model: { truth: '4' },
      answer: '4',
    })
  })

  test('a dotted path is read before its column is left out', () => {
    const columns = form.columns.map((column) => ({ ...column, isKept: column.name === 'question' }))
    expect(imported(row, { ...form, answer: 'reward_model.truth', columns })).toEqual({
      question: '2 + 2?',
      answer: '4',
    })
  })

  test('renames and leaves out', () => {
    const columns = form.columns.map((column) => {
      if (column.name === 'question') return { ...column, to: 'task' }
      return column.name === 'id' ? { ...column, isKept: false } : column
    })
    expect(imported(row, { ...form, answer: null, columns })).toEqual({
      task: '2 + 2?',
      final: '4',
      reward_model: { truth: '4' },
    })
  })

  test('paths lead to what can be compared with only', () => {
    expect(facts.find(({ name }) => name === 'reward_model')?.paths).toEqual(['reward_model.truth'])
  })
})

describe('promptOf', () => {
  const row = { question: '2 + 2?', hint: 'even', solution: '4' }
  const { form, facts } = opened(row)

  test('a text becomes a user message, or stands alone', () => {
    expect(promptOf(form, facts)).toEqual({ messages: [user('{question}')] })
    expect(promptOf({ ...form, asMessage: false }, facts)).toEqual({ column: 'question' })
  })

  test('names of a template follow renames and the answer', () => {
    const columns = form.columns.map((column) =>
      column.name === 'hint' ? { ...column, to: 'clue' } : column,
    )
    const prompt = { kind: 'template' as const, text: '{question} {{so}} {hint} {solution}' }
    expect(promptOf({ ...form, columns, prompt, asMessage: false }, facts)).toEqual({
      template: '{question} {{so}} {clue} {answer}',
    })
  })

  test('messages stay messages', () => {
    const chat = opened({ messages: [user('2 + 2?'), assistant('4')] })
    expect(promptOf(chat.form, chat.facts)).toEqual({ column: 'prompt' })
  })

  test('none is none', () => {
    expect(promptOf({ ...form, prompt: { kind: 'none' } }, facts)).toBeNull()
  })
})

describe('withTaking', () => {
  const row = { messages: [user('2 + 2?'), assistant('4')], source: 'book' }
  const { form, facts } = opened(row)

  test('left whole, the conversation is the prompt', () => {
    const whole = withTaking(form, null, facts)
    expect(whole.prompt).toEqual({ kind: 'column', column: 'messages' })
    expect(whole.answer).toBeNull()
    expect(imported(row, whole)).toEqual(row)
  })

  test('left whole, a column that is called as answers are is what is expected', () => {
    const other = opened({ messages: [user('2 + 2?'), assistant('4')], answer: '4' })
    expect(withTaking(other.form, null, other.facts).answer).toBe('answer')
  })

  test('taken apart again, prompt and answer are the parts', () => {
    const taken = withTaking(withTaking(form, null, facts), form.taking, facts)
    expect(taken).toEqual(form)
  })
})

describe('formProblems', () => {
  const { form } = opened({ question: '2 + 2?', answer: 'four', solution: '4' })

  test('none in what is detected', () => expect(formProblems(form)).toEqual([]))

  test('two columns of one name', () => {
    expect(formProblems({ ...form, answer: 'solution' })).toEqual([
      'Two columns would be called “answer”. Rename one or leave it out.',
    ])
  })

  test('a prompt without its column', () => {
    const columns = form.columns.map((column) => ({ ...column, isKept: column.name === 'solution' }))
    expect(formProblems({ ...form, columns })).toEqual(['The prompt needs “question”, which is left out.'])
  })

  test('nothing left', () => {
    const columns = form.columns.map((column) => ({ ...column, isKept: false }))
    expect(formProblems({ ...form, prompt: { kind: 'none' }, columns })).toContain('No column is kept.')
  })
})
