import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { inspectDataFile } from '#host/data/dataFiles.ts'
import { columnWarnings } from '#host/data/runColumns.ts'
import { detectShape } from '#host/data/shapes.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

type Row = Readonly<Record<string, unknown>>
const plain = (at: number): Row => ({ question: `What is ${at}+1?`, answer: `a${at}` })
const late = (row: Row, count = 300): Row[] => [
  ...Array.from({ length: count }, (_, at) => plain(at)),
  { ...plain(count), ...row },
]

test.each<[string, Row]>([
  ['images', { image: 'a.png' }],
  ['functions', { tools: [{ name: 'f' }] }],
  ['choices', { choices: ['x', 'y'] }],
  ['context', { context: 'Rome fell.' }],
  ['instructions', { system: 'Be brief.' }],
  ['weights', { weight: 0 }],
])('%s that appear late are read or named as if they came first', (_, row) => {
  const rows = late(row)
  const [shape, turned] = [detectShape(rows), detectShape(rows.toReversed())]
  expect(shape.leftAside).toEqual(turned.leftAside)
  expect(shape.mapping).toEqual(turned.mapping)
  const column = Object.keys(row)[0] ?? ''
  expect([...shape.used, ...shape.leftAside.map((each) => each.column)]).toContain(column)
})

test('an input that is empty at first belongs to the prompt', () => {
  const rows = Array.from({ length: 250 }, () => ({ instruction: 'Say', input: '', output: 'x' }))
  const { mapping } = detectShape([...rows, { instruction: 'Translate', input: 'Hund', output: 'dog' }])
  expect(mapping).toContainEqual({ kind: 'messages', parts: ['instruction', 'input'] })
})

test('places of choices are counted as all rows say', () => {
  const choices = ['a', 'b', 'c', 'd']
  const rows = Array.from({ length: 250 }, (_, at) => ({ question: 'Q', choices, answer: 1 + (at % 3) }))
  const first = (answer: number) =>
    detectShape([...rows, { question: 'Q', choices, answer }]).mapping.find(({ kind }) => kind === 'choices')
  expect([first(0), first(4)]).toMatchObject([
    { answer: 'answer', first: 0 },
    { answer: 'answer', first: 1 },
  ])
})

test('a late mark as bad, and a late split, are seen before a run', () => {
  const { data, rewards } = parseRunConfig({ model: 'm', data: { train: 'd' } })
  const rows: Row[] = Array.from({ length: 250 }, () => ({ prompt: 'p', completion: 'c', split: 'train' }))
  const warned = (train: readonly Row[]) =>
    columnWarnings({ data, rewards }, 'demonstrations', {
      train,
      heldOut: [],
      places: { train: [...train.keys()], heldOut: [] },
    })
  const tested = warned([...rows, { prompt: 'p', completion: 'c', split: 'test' }])
  expect(tested.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^“split” marks rows as “test”\. They are rows like all others/),
  ])
  const bad = { prompt: 'p', completion: 'c', label: false }
  expect(() => warned([...rows, bad])).toThrow('SFT would imitate the bad ones')
})

test('of a large file it is said how many rows were looked at', async () => {
  const file = path.join(temporaryFolder(), 'rows.jsonl')
  writeFileSync(
    file,
    late({ image: 'a.png' }, 40_000)
      .map((row) => `${JSON.stringify(row)}\n`)
      .join(''),
  )
  const { notes, shape, rows, isWhole } = await inspectDataFile(file, { maxBytes: 1 })
  expect(notes).toEqual([
    expect.stringMatching(/^What the columns are was judged by the first \d{4,5} rows\.$/),
  ])
  expect([shape.leftAside, rows.length, isWhole]).toEqual([[], 100, false])
  const whole = await inspectDataFile(file)
  expect([whole.notes, whole.rows.length, whole.isWhole]).toEqual([[], 100, false])
  expect(whole.shape.leftAside).toMatchObject([{ column: 'image' }])
})
