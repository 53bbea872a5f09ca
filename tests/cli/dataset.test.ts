import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { createWorkplace, linesOf } from './turnwise.ts'

const place = createWorkplace()
const zstd = fileURLToPath(new URL('../fixtures/data/python/zstd.parquet', import.meta.url))

afterAll(() => {
  place[Symbol.dispose]()
})

describe('dataset', () => {
  test('a file is imported, listed and shown', async () => {
    const file = place.write(
      'chats.jsonl',
      '{"conversations":[{"from":"human","value":"hi"},{"from":"gpt","value":"yo"}]}\n3\n',
    )
    const done = await place.run('dataset', 'import', file, '--name', 'chats', '--remap', '--json')
    expect(done).toMatchObject({ status: 0, stderr: '' })
    const [added] = linesOf(done.stdout) as [{ id: string; directory: string }]
    expect(added).toMatchObject({
      name: 'chats',
      rows: 1,
      isNew: true,
      columns: ['prompt', 'completion'],
      problems: { count: 1, listed: [{ number: 2, line: 2, sentence: 'it is not a JSON object' }] },
    })
    expect(path.basename(added.directory)).toBe(added.id)

    const [list] = linesOf((await place.run('dataset', 'list', '--json')).stdout)
    expect(list).toEqual({
      datasets: [expect.objectContaining({ id: added.id, name: 'chats', rows: 1, problems: 1 })],
    })

    const shown = await place.run('dataset', 'show', added.id.slice(0, 8), '--rows', '1', '--json')
    const [facts] = linesOf(shown.stdout)
    expect(facts).toMatchObject({
      id: added.id,
      shape: { id: 'prompt-completion', prompt: { column: 'prompt' } },
      promptLengths: { rows: 1, problems: 0 },
      firstRows: [{ prompt: [{ role: 'user', content: 'hi' }], completion: 'yo' }],
    })
    const words = await place.run('dataset', 'show', 'chats')
    expect(words.stdout).toContain('Looks like: prompt and completion')
    expect(words.stdout).toContain('row 2 (line 2): it is not a JSON object')
  })

  test('prompts of several turns that end with the user are taken whole', async () => {
    const chat = [
      { role: 'user', content: '2 + 2?' },
      { role: 'assistant', content: '4' },
      { role: 'user', content: 'And 3?' },
    ]
    const lines = Array.from({ length: 3 }, (_, i) => JSON.stringify({ messages: chat, answer: String(i) }))
    const file = place.write('prompts.jsonl', `${lines.join('\n')}\n`)
    const done = await place.run('dataset', 'import', file, '--remap', '--json')
    const [added] = linesOf(done.stdout)
    expect(added).toMatchObject({ rows: 3, columns: ['answer', 'prompt'], problems: { count: 0 } })
  })

  test('parquet says what was added, and what was there already', async () => {
    expect((await place.run('dataset', 'import', zstd)).stdout).toMatch(
      /^Read as Parquet: prompt only, by the column “prompt”\.\n“bytes” holds bytes that are not UTF-8 text: they are read as Base64\.\nAdded “zstd”, 300 rows, id [0-9a-f]{12}\./,
    )
    expect((await place.run('dataset', 'import', zstd)).stdout).toMatch(/^Already imported: “zstd”/m)
  })

  test('the same rows under another name keep the name they had', async () => {
    await place.run('dataset', 'import', place.write('kept.csv', 'question,answer\n9+9?,18\n'))
    const other = place.write('kept.jsonl', '{"question":"9+9?","answer":"18"}\n')
    const again = await place.run('dataset', 'import', other, '--name', 'other')
    expect(again.stdout).toMatch(
      /^Already imported: “kept”, 1 row, id \w{12}\.\n“other” is now another name for it\.$/m,
    )
    for (const name of ['kept', 'other'])
      expect((await place.run('dataset', 'show', name)).stdout).toContain('9+9?')
    expect((await place.run('dataset', 'list')).stdout).toContain('kept, other')
    // A newer data set of that name is the one meant, until the rows are imported under it once more.
    await place.run(
      'dataset',
      'import',
      place.write('new.csv', 'question,answer\n1+1?,2\n'),
      '--name',
      'other',
    )
    expect((await place.run('dataset', 'show', 'other')).stdout).toContain('1+1?')
    await place.run('dataset', 'import', other, '--name', 'other')
    expect((await place.run('dataset', 'show', 'other')).stdout).toContain('9+9?')
    expect((await place.run('dataset', 'show', 'kept')).stdout).toContain('9+9?')
  })

  test('says what the file was taken for, what stays aside, and what a run would read', async () => {
    const row = { Question: 'Even?', Choices: ['1', '2'], images: ['a.png'] }
    const rows = [1, 0].map((Answer) => ({ ...row, Answer }))
    const file = place.write('choices.json', { test: rows, train: rows })
    expect((await place.run('dataset', 'import', file)).stdout.split('\n')).toEqual([
      'Read as JSON: question and answer, by the columns “Question” and “Answer”.',
      'Read the list “train”; left aside: “test” (2).',
      expect.stringMatching(/^Added “choices”, 2 rows, id/),
      expect.stringMatching(/^For details/),
      '“images” (images; only text is read) is not used.',
      '“Answer” is read as the position of the right choice, counted from 0.',
      'The columns were kept as they are. Import the data with --remap to get the columns that a run reads.',
      '',
    ])
    const mapped = await place.run('dataset', 'import', file, '--remap', '--split', 'test')
    expect(mapped.stdout).toContain(
      'Proposed data.prompt: {"column":"prompt"}\n  row 1: user: Even? ⏎ A. 1 ⏎ B. 2\n',
    )
    const ask = await place.run('dataset', 'import', place.write('two.json', { a: rows, b: rows }))
    expect(ask.stderr).toContain('two.json holds several lists: “a” (2), “b” (2).')
    expect(ask.stderr).toMatch(/turnwise dataset import \S+two\.json --split a` reads the first/)
    const csv = await place.run('dataset', 'import', place.write('a.csv', 'q\n1\n'), '--split', 'a')
    expect(csv.stderr).toContain('Option --split is only for')
  })

  test('unknown columns come with a template to start from; values that say nothing are counted in all rows', async () => {
    const words = await place.run('dataset', 'import', place.write('u.csv', 'body_text,n\nWhat?,1\n'))
    expect(words.stdout).toMatch(
      /^Read as CSV\. No known kind of data set has these columns: “body_text” and “n”\.\n/,
    )
    expect(words.stdout).toContain('such as "data": {"prompt": {"template": "{body_text}"}}.')
    const rows = Array.from({ length: 300 }, (_, at) => `q${at},${at < 250 ? 'a' : at < 290 ? '' : 'nan'}`)
    const odd = await place.run(
      'dataset',
      'import',
      place.write('odd.csv', `question,answer\n${rows.join('\n')}\n`),
    )
    expect(odd.stdout).toContain('“answer” is empty in 40 of 300 rows: ')
    expect(odd.stdout).toContain('“answer” holds the text “nan” in 10 of 300 rows.')
  })

  test('what is no data is refused in words', async () => {
    const wrong = await place.run('dataset', 'import', place.write('a.csv', 'q\n'))
    expect([wrong.status, wrong.stdout]).toEqual([1, ''])
    expect(wrong.stderr).toContain('a.csv holds no rows')
    const kind = await place.run('dataset', 'import', place.write('a.foo', 'q\n'))
    expect(kind.stderr).toContain(
      'Data files end in .jsonl, .ndjson, .json, .csv, .tsv, .parquet; text files may be packed (.gz, .zst).',
    )
    const text = await place.run('dataset', 'import', place.write('a.txt', 'q\n'))
    expect(text.stderr).toContain('a.txt is a text file, which is not read as data.')
    expect((await place.run('dataset', 'show', 'none')).stderr).toContain('There is no data set “none”')
  })
})

test('a run trains on a data set by its name and holds a share of it out', async () => {
  const model = place.path('model')
  await place.run('model', 'random', '--shape', 'tiny-qwen3', '--out', model)
  const rows = Array.from({ length: 40 }, (_, index) => `${index}+1,${index + 1}`)
  await place.run('dataset', 'import', place.write('sums.csv', ['prompt,answer', ...rows].join('\n')))
  const config = place.write('run.json', {
    model: 'model',
    data: { train: 'sums', heldOut: { rows: 4, seed: 1 } },
    rewards: [{ function: 'length-penalty' }],
    rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 4 },
    steps: 1,
  })
  const done = await place.run('train', config, '--json')
  expect([done.status, done.stderr]).toEqual([0, expect.any(String)])
  const events = linesOf(done.stdout) as { type?: string }[]
  expect(events.filter(({ type }) => type === 'evaluation').length).toBeGreaterThan(0)
})
