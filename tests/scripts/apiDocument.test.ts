import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { declarations } from '../../scripts/api/declarations.ts'
import { apiDocument } from '../../scripts/api/document.ts'

/** Read once: it compiles the library. */
const declared = declarations()
const file = path.join(import.meta.dirname, '../../docs/api.md')

test('the document of the programmatic API says what its types say: npm run docs:api', async () => {
  expect(await apiDocument(declared)).toBe(readFileSync(file, 'utf8'))
})

test('no type of the library is any for want of one that is written out', () => {
  const own = declared.filter(({ source }) => source.startsWith('src/'))
  expect(own.length).toBeGreaterThan(50)
  const code = (text: string) => text.replaceAll(/\/\*[^]*?\*\//g, '')
  expect(own.filter(({ text }) => /\bany\b/.test(code(text))).map(({ name }) => name)).toEqual([])
})

test('every exported function and interface has a comment', () => {
  const bare = declared.filter(
    ({ isPublic, source, text }) => isPublic && source.startsWith('src/') && !text.startsWith('/**'),
  )
  expect(bare.map(({ name, source }) => `${name} in ${source}`)).toEqual([])
})
