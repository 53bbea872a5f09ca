import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { declarations } from '../../scripts/api/declarations.ts'
import { apiDocument } from '../../scripts/api/document.ts'

const file = path.join(import.meta.dirname, '../../docs/api.md')

test('the document of the programmatic API says what its types say: npm run docs:api', async () => {
  expect(await apiDocument(declarations())).toBe(readFileSync(file, 'utf8'))
})

test('every exported function and interface has a comment', () => {
  const bare = declarations().filter(
    ({ isPublic, source, text }) => isPublic && source.startsWith('src/') && !text.startsWith('/**'),
  )
  expect(bare.map(({ name, source }) => `${name} in ${source}`)).toEqual([])
})
