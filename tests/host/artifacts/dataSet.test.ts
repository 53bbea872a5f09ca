import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readDataSet } from '#host/artifacts/dataSet.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-data-'))
afterAll(() => {
  rmSync(folder, { recursive: true })
})

function rowsOf(name: string, content: string | Uint8Array): unknown {
  const file = path.join(folder, name)
  writeFileSync(file, content)
  return readDataSet(file).map((row) => ({ ...row }))
}

describe('readDataSet', () => {
  test.each([
    ['a.jsonl', '{"q":"1","n":2}\n\n{"q":"ü"}\r\n', [{ q: '1', n: 2 }, { q: 'ü' }]],
    ['a.json', '[{"q":[{"role":"user","content":"x"}]}]', [{ q: [{ role: 'user', content: 'x' }] }]],
    ['a.csv', 'q,a\n1,2\n', [{ q: '1', a: '2' }]],
    [
      'a.csv',
      '\uFEFFq,a\r\n"1,""x""\r\ny",\r\n\r\n3,4',
      [
        { q: '1,"x"\r\ny', a: '' },
        { q: '3', a: '4' },
      ],
    ],
    ['a.csv', 'q\n""\nb"c\n', [{ q: '' }, { q: 'b"c' }]],
    ['a.tsv', 'q\ta\n1,5\t"2\t3"', [{ q: '1,5', a: '2\t3' }]],
    ['a.jsonl', '{"__proto__":{"x":1}}', [JSON.parse('{"__proto__":{"x":1}}')]],
  ])('%s %j', (name, content, rows) => {
    expect(rowsOf(name, content)).toEqual(rows)
  })

  test.each([
    ['b.jsonl', '{"q":1}\n{"q":', /b\.jsonl, line 2, is not valid JSON/],
    ['b.jsonl', '3', /b\.jsonl, line 1, is not a JSON object/],
    ['b.json', '{}', /must hold a list of objects/],
    ['b.json', '[{}, 1]', /Entry 2 of .* is not an object/],
    ['b.csv', 'q,a\n"x\ny",1\n2\n', /b\.csv, line 4, has 1 values for 2 columns/],
    ['b.csv', 'q,q\n1,2', /two columns called «q»/],
    ['b.csv', 'q\n"open', /line 2, has a quotation mark that does not close/],
    ['b.csv', 'q\n"x"y\n', /line 2, has a quotation mark that does not close/],
    ['b.csv', 'q\n', /holds no rows/],
    ['b.parquet', '', /is of a kind that is not read as data/],
    ['b.csv', Uint8Array.of(0xff, 0xfe), /is not UTF-8 text/],
  ])('%s %j is an error in words', (name, content, sentence) => {
    expect(() => rowsOf(name, content)).toThrow(sentence)
  })

  test('a missing file', () => {
    expect(() => readDataSet(path.join(folder, 'none.csv'))).toThrow(/could not be read: it does not exist/)
  })
})
