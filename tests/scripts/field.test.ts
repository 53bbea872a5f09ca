import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { fieldTable } from '../../scripts/field/table.ts'

const folder = path.resolve('tests/fixtures/field')

test('files and runs as people bring them are taken for what they are, in the words of the table', async () => {
  const expected = readFileSync(path.join(folder, 'table.txt'), 'utf8').trimEnd().split('\n')
  expect(await fieldTable(folder)).toEqual(expected)
})
