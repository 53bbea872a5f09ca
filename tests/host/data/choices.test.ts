/** Questions whose possible answers stand in columns of their own. */
import { describe, expect, test } from 'vitest'
import { isProblem, type DataRow } from '#host/data/dataFile.ts'
import { mapItem } from '#host/data/mapping.ts'
import { detectShape } from '#host/data/shapes.ts'

/** The prompt and the answer that a row becomes, or why it becomes none. */
function asked(...rows: readonly DataRow[]): unknown[] {
  const { mapping, answer } = detectShape(rows)
  return rows.map((row) => {
    const item = mapItem({ row, number: 1, line: 1 }, mapping)
    if (isProblem(item)) return item.sentence
    const [{ content } = { content: '' }] = item.row['prompt'] as { content: string }[]
    return [content, item.row[answer ?? '']]
  })
}

const said = (...rows: readonly DataRow[]): string[] => {
  const { leftAside, doubts } = detectShape(rows)
  return [...leftAside.map(({ text }) => text), ...doubts]
}

const quiz = (names: readonly string[], answer: string, ...right: readonly unknown[]): DataRow[] =>
  right.map((each) => ({
    question: '2+2?',
    ...Object.fromEntries(names.map((name, at) => [name, ['3', '4', '5', '6'][at]])),
    [answer]: each,
  }))

const shown = '2+2?\n\nA. 3\nB. 4\nC. 5\nD. 6'

describe('are written behind it with letters', () => {
  test.each<[string[], string, unknown]>([
    [['A', 'B', 'C', 'D'], 'answer', 'B'],
    [['a', 'b', 'c', 'd'], 'correct', 'b'],
    [['option_a', 'option_b', 'option_c', 'option_d'], 'answer', 'B'],
    [['Option 1', 'Option 2', 'Option 3', 'Option 4'], 'Correct Answer', 'Option 2'],
    [['choice1', 'choice2', 'choice3', 'choice4'], 'answer', 'choice2'],
    [['optionA', 'optionB', 'optionC', 'optionD'], 'label', 'optionB'],
    [['answer0', 'answer1', 'answer2', 'answer3'], 'label', 1],
    [['ending0', 'ending1', 'ending2', 'ending3'], 'label', '1'],
  ])('%j, of which %s says %j', (names, answer, right) => {
    expect(asked(...quiz(names, answer, right))).toEqual([[shown, 'B']])
    expect(said(...quiz(names, answer, right))[0]).toBe(
      `“${names[0] ?? ''}” to “${names[3] ?? ''}” are read as the possible answers to one question; they stand behind it with letters.`,
    )
  })

  test('the text of the right one, where digits can be no positions', () => {
    const rows = quiz(['choice1', 'choice2', 'choice3', 'choice4'], 'answer', '5', '4')
    expect(asked(...rows)).toEqual([
      [shown, 'C'],
      [shown, 'B'],
    ])
  })

  test('MedMCQA counts from 0', () => {
    const rows = quiz(['opa', 'opb', 'opc', 'opd'], 'cop', 0, 3, 1)
    expect(asked(...rows)).toEqual([
      [shown, 'A'],
      [shown, 'D'],
      [shown, 'B'],
    ])
    expect(said(...rows)).toContain('“cop” is read as the position of the right choice, counted from 0.')
  })

  test('two options, as WinoGrande and PIQA have them', () => {
    const row = { sentence: 'Ann helped Beth because _ was kind.', option1: 'Ann', option2: 'Beth' }
    const prompt = 'Ann helped Beth because _ was kind.\n\nA. Ann\nB. Beth'
    expect(asked({ ...row, answer: '1' }, { ...row, answer: '2' })).toEqual([
      [prompt, 'A'],
      [prompt, 'B'],
    ])
    expect(asked({ goal: 'Open a jar', sol1: 'twist', sol2: 'sing', label: 0 })).toEqual([
      ['Open a jar\n\nA. twist\nB. sing', 'A'],
    ])
  })

  test('empty columns are no choices, and no right one', () => {
    const names = ['option_a', 'option_b', 'option_c']
    const row = { question: 'q', option_a: 'x', option_b: 'y', option_c: '' }
    const alone = { ...row, option_b: null, answer: 'A' }
    expect(asked({ ...row, answer: 'B' }, { ...row, answer: 'C' }, alone)).toEqual([
      ['q\n\nA. x\nB. y', 'B'],
      'its column “answer” names none of its 2 choices: C',
      `fewer than two of its columns ${names.map((name) => `“${name}”`).join(', ')} hold an answer`,
    ])
  })

  test('passages stand before the question, and choices that have a letter keep it', () => {
    const row = { context: 'Ann ran.', question: 'Why?', option_a: 'A) late', option_b: 'B) fun' }
    expect(asked({ ...row, answer: 'A' })).toEqual([['Ann ran.\n\nWhy?\n\nA) late\nB) fun', 'A']])
  })
})

describe('where which is right cannot be told, it stays as it is', () => {
  const options = ['option_a', 'option_b', 'option_c', 'option_d']
  test('positions that may count from 0 or from 1', () => {
    expect(asked(...quiz(options, 'answer', 2))).toEqual([[shown, 2]])
    expect(said(...quiz(options, 'answer', 2)).join()).toContain('whether positions count from 0 or from 1')
  })

  test('digits that are the text of one choice and the position of another', () => {
    const row = { question: 'q', option_a: '4', option_b: '3', option_c: '1', option_d: '2', answer: '1' }
    expect(asked(row)).toEqual([['q\n\nA. 4\nB. 3\nC. 1\nD. 2', '1']])
    expect(said(row).join()).toContain('seems to hold the position')
  })
})

describe('are named where they are not shown', () => {
  test('beside a whole prompt, whose answer stays too', () => {
    const row = { system: 's', prompt: 'p', option_a: 'x', option_b: 'y', answer: 'B' }
    expect(asked(row)).toEqual([['s', 'B']])
    expect(said(row)).toEqual([
      '“option_a” (a possible answer) is not used: the prompt is made of “prompt”.',
      '“option_b” (a possible answer) is not used: the prompt is made of “prompt”.',
    ])
    const listed = { system: 's', prompt: 'p', choices: ['x', 'y'], answer: 1 }
    expect(asked(listed)).toEqual([['s', 1]])
  })

  test('numbers, which may be scores', () => {
    const row = { question: 'q', option_a: 1, option_b: 2, option_c: 3, answer: 'B' }
    expect(said(row)).toEqual(
      ['option_a', 'option_b', 'option_c'].map(
        (name) => `“${name}” (a possible answer) is not used: it holds numbers, not texts.`,
      ),
    )
  })

  test('a letter is no answer', () => {
    const row = { question: 'q', A: 'x', B: 'y', C: 'z' }
    expect(detectShape([row]).id).toBe('unknown')
  })
})

describe('a choice whose text is a letter', () => {
  const texts = ['A', 'B12', 'D', 'C']
  const [a = '', b = '', c = '', d = ''] = texts
  const listed = { choices: texts }
  const labelled = { choices: { text: texts, label: ['A', 'B', 'C', 'D'] } }
  const columns = { option_a: a, option_b: b, option_c: c, option_d: d }
  test.each([
    ['a list', listed],
    ['labels', labelled],
    ['an object', { options: { A: a, B: b, C: c, D: d } }],
    ['columns', columns],
  ])('does not take the letter of another: %s', (_, choices) => {
    const rows = ['A', 'B', 'C', 'D'].map((answer) => ({ question: 'Which vitamin?', ...choices, answer }))
    expect(asked(...rows).map((row) => (row as string[])[1])).toEqual(['A', 'B', 'C', 'D'])
    expect(said(...rows).at(-1)).toBe(
      'In 2 of the first 4 rows “answer” (such as “C”) is the letter of one choice and the text of another; it is read as the letter, as in the other rows.',
    )
  })

  test('is meant where the answers of the other rows are texts', () => {
    const rows = ['B12', 'D', 'B12'].map((answer) => ({ question: 'Which vitamin?', ...listed, answer }))
    expect(asked(...rows).map((row) => (row as string[])[1])).toEqual(['B', 'C', 'B'])
    expect(said(...rows).join()).toContain('it is read as the text, as in the other rows.')
  })

  test('every row has one reading, and the sentence says where no row decides', () => {
    const rows = ['A', 'B', 'C'].map((answer) => ({ question: 'Which?', choices: ['B', 'C', 'A'], answer }))
    expect(asked(...rows).map((row) => (row as string[])[1])).toEqual(['A', 'B', 'C'])
    expect(said(...rows)).toEqual([
      'In 3 of the first 3 rows “answer” (such as “A”) is the letter of one choice and the text of another; it is read as the letter. If the text is meant, write the answers so that they cannot be read as both.',
    ])
  })
})
