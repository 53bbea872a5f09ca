/** Files that cannot be read as meant say what they are and how to convert them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { inspectDataFile } from '#host/data/dataFiles.ts'
import { readDataSet } from '#host/data/readDataSet.ts'
import { columnWarnings } from '#host/data/runColumns.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-test-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function written(name: string, content: string | Buffer): string {
  const file = path.join(folder, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, content)
  return file
}

/** What is said of a file that is refused. */
async function refusal(file: string): Promise<string> {
  try {
    await inspectDataFile(file)
  } catch (error) {
    if (error instanceof AppError) {
      return `${error.message} ${error.hint ?? ''}`.replaceAll(`${folder}/`, '')
    }
    throw error
  }
  return 'read'
}

describe('other forms of data', () => {
  test.each([
    [
      'a.xlsx',
      'PK',
      'a.xlsx is a spreadsheet, which is not read as data. Open it in Excel, LibreOffice or Google Sheets and save the sheet as CSV (UTF-8).',
    ],
    [
      'a.pkl',
      '',
      'import pandas as pd; pd.read_pickle("a.pkl").to_json("rows.jsonl", orient="records", lines=True)',
    ],
    ['a.arrow', '', 'from datasets import Dataset; Dataset.from_file("a.arrow").to_json("rows.jsonl")'],
    ['a.feather', '', 'pd.read_feather("a.feather")'],
    ['a.txt', 'x', 'a.txt is a text file'],
    ['a.jsonl.bz2', 'x', 'Unpack it with `bzip2 -d a.jsonl.bz2`'],
    ['a.tar.gz', 'x', 'a.tar.gz is an archive'],
    ['a.gguf', 'x', 'a.gguf is a model, not data'],
    ['renamed.csv', Buffer.from([0x80, 4, 0x95]), 'renamed.csv is a Python pickle.'],
    ['stream.jsonl', Buffer.from([0xff, 0xff, 0xff, 0xff, 1]), 'Dataset.from_file("stream.jsonl")'],
  ])('%s', async (name, content, sentence) => {
    expect(await refusal(written(name, content))).toContain(sentence)
  })

  test('folders that save_to_disk wrote, and others', async () => {
    written('disk/state.json', '{}')
    written('disk/data-00000-of-00001.arrow', '')
    expect(await refusal(path.join(folder, 'disk'))).toBe(
      'disk is a folder that save_to_disk wrote. Convert it with Python: from datasets import load_from_disk; load_from_disk("disk").to_json("rows.jsonl")',
    )
    written('splits/dataset_dict.json', '{}')
    expect(await refusal(path.join(folder, 'splits'))).toContain('load_from_disk("splits")["train"].to_json')
    written('files/b.jsonl', '')
    written('files/a.parquet', '')
    expect(await refusal(path.join(folder, 'files'))).toBe(
      'files is a folder, not a data file. Choose one of its files: a.parquet, b.jsonl.',
    )
  })

  test('packed tables are read', async () => {
    const file = written('a.tsv.gz', gzipSync('question\tanswer\n1?\t2\n'))
    expect((await inspectDataFile(file)).rows).toEqual([{ question: '1?', answer: '2' }])
  })
})

describe('JSON in another arrangement', () => {
  const rows = { a: { question: 'q', answer: '1' }, b: { question: 'r', answer: '2' } }

  test.each([
    [
      'id.json',
      JSON.stringify(rows),
      "with a row under each key (“a”, “b”). Write one row per line: jq -c 'to_entries[]",
    ],
    [
      'columns.json',
      JSON.stringify({ question: { 0: 'q' }, answer: { 0: '1' } }),
      "is written column by column (“question”, “answer”). Write one row per line: jq -c 'keys_unsorted as $names",
    ],
    [
      'split.json',
      JSON.stringify({ columns: ['question', 'answer'], index: [0], data: [['q', '1']] }),
      "It is pandas’ “split” form: names and values stand apart (“columns”, “index”, “data”). Write one row per line: jq -c '.columns as $names",
    ],
    [
      'two words.json',
      JSON.stringify([
        ['question', 'answer'],
        ['q', '1'],
      ]),
      "a list of lists, whose values have no names. Write a table and import that: jq -r '.[] | @csv' 'two words.json' > rows.csv",
    ],
    [
      'lists.jsonl',
      '["q", "1"]\n["r", "2"]\n',
      'a list on each line, whose values have no names. Write a table and import that: jq -r @csv lists.jsonl > rows.csv',
    ],
    [
      'chats.jsonl',
      '[{"role": "user", "content": "q"}]\n[{"role": "user", "content": "r"}]\n',
      "If each is a conversation, name it: jq -c '{messages: .}' chats.jsonl > rows.jsonl",
    ],
    [
      'chats.json',
      '[\n [{"role": "user", "content": "q"}],\n [{"role": "user", "content": "r"}]]',
      "If each is a conversation, name it: jq -c '.[] | {messages: .}' chats.json > rows.jsonl",
    ],
    [
      'pretty.jsonl',
      JSON.stringify(rows.a, null, 2),
      'Write each on one line: jq -c . pretty.jsonl > rows.jsonl',
    ],
    ['half.jsonl', '{"question": "q",\n  "answer": "1"}\n', 'its objects go over several lines'],
  ])('%s', async (name, content, sentence) => {
    expect(await refusal(written(name, content))).toContain(sentence)
  })

  test('a broken first line costs its own row only', async () => {
    const file = written('cut.jsonl', '{"question": "q",\n{"question": "r", "answer": "2"}\n')
    expect(await inspectDataFile(file)).toMatchObject({
      rows: [{ question: 'r' }],
      problems: [{ number: 1 }],
    })
  })
})

describe('tables', () => {
  const notesOf = async (name: string, content: string) =>
    (await inspectDataFile(written(name, content))).notes

  test('separators, decimal commas and missing headers are said', async () => {
    expect(await notesOf('pipe.csv', 'question|answer\n1?|2\n')).toEqual([
      'Read with vertical bars (|) between the columns.',
    ])
    expect(await notesOf('semicolon.csv', 'question;answer\n1?;3,5\n2?;1,5\n')).toEqual([
      'Read with semicolons between the columns.',
      'Some numbers have a decimal comma, such as 3,5. They stay as they are: rewards that compare numbers read the comma as a decimal point.',
    ])
    expect(await notesOf('bare.csv', 'What is 2?,2\nWhat is 3?,3\n')).toEqual([
      '“What is 2?” was taken for the name of a column, but looks like a value. If the first line is a row, put a line with names such as question,answer in front of it.',
    ])
    expect(await notesOf('spam.tsv', 'ham\tOk lar\nspam\tFree entry\nham\tSo early\n')).toEqual([
      '“ham” was taken for the name of a column, but is one of its values, too. If the first line is a row, put a line with names such as question,answer in front of it.',
    ])
    expect(await notesOf('named.csv', 'question,answer 1\n2,2\n')).toEqual([])
    expect(
      await notesOf('school.csv', 'No.,Question,Corr. ans.,Right?\n1,What is 1 plus 1?,2,yes\n'),
    ).toEqual([])
    expect(await refusal(written('twice.csv', '4,4\n1,2\n'))).toContain('If the first line is a row')
  })
})

test('values that say nothing are counted', async () => {
  const rows = [
    { question: 'q', answer: '4', note: '' },
    { question: 'q \ud83d', answer: '' },
    { question: 'q', answer: null },
    { question: 'q' },
    { question: 'None', answer: 'nan' },
  ]
  const found = await inspectDataFile(
    written('odd.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join('')),
  )
  expect(found.oddValues).toEqual([
    expect.stringMatching(/^“question” holds the text “None” in 1 of 5 rows\./),
    expect.stringMatching(/^“question” holds half a character .* in 1 of 5 rows/),
    expect.stringMatching(/^“answer” is empty in 3 of 5 rows: /),
    expect.stringMatching(/^“answer” holds the text “nan” in 1 of 5 rows\./),
  ])
})

describe('commands name the file at hand', () => {
  test('that a row of cannot be read by a run', async () => {
    const file = written('two words.jsonl', '{"question": "q"}\n[]\n')
    await expect(readDataSet(file)).rejects.toMatchObject({
      command: `\`turnwise dataset import '${file}'\` does so.`,
    })
  })

  test('whose marks SFT would not heed', () => {
    const file = written('marks.jsonl', '{}\n')
    const { data } = parseRunConfig({ model: 'm', data: { train: file } })
    const train = [true, false].map((label) => ({ prompt: 'p', completion: 'c', label }))
    const rows = { train, heldOut: [], places: { train: [0, 1], heldOut: [] } }
    const warnings = () => columnWarnings({ data, rewards: [] }, 'demonstrations', rows)
    expect(warnings).toThrow(
      expect.objectContaining({
        command: expect.stringContaining(`import ${file} --remap`) as string,
      }) as Error,
    )
  })
})
