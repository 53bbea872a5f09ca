import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { jsonOutputs } from '#cli/jsonOutputs.ts'
import { createProgram, leavesOf, nameOf } from '#cli/main.ts'
import { jsonDocument } from '../../scripts/api/jsonDocument.ts'
import { requireDocumented } from './jsonLines.ts'
import { answer } from './turnwise.ts'

test('every command says what it prints as JSON', async () => {
  const names = leavesOf(createProgram(process, [])).map(nameOf)
  expect(Object.keys(jsonOutputs).sort()).toEqual([...names].sort())
  const { stdout } = await answer('runs', 'list', '--help')
  expect(stdout).toContain('With --json: runs, families, unreadable.')
})

test('docs/json.md is what the table says', () => {
  const page = path.join(import.meta.dirname, '../../docs/json.md')
  expect(readFileSync(page, 'utf8'), 'npm run docs:api').toBe(jsonDocument())
})

test('a field that is missing, of another kind or not listed is found', () => {
  const found = (printed: object) => () =>
    requireDocumented(['key', 'withdraw', '--json'], JSON.stringify(printed))
  expect(found({ withdrawn: 1 })).not.toThrow()
  expect(found({})).toThrow('key withdraw --json printed what is not in src/cli/jsonOutputs.ts')
  expect(found({ withdrawn: '1' })).toThrow('expected number')
  expect(found({ withdrawn: 1, more: 2 })).toThrow('.more')
})
