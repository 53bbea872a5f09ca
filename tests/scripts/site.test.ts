/** The contents of the documents' site. */
import { globSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { addressOf, sections } from '../../site/.vitepress/contents.ts'

const root = path.resolve(import.meta.dirname, '../..')

test('every document is listed in a section', () => {
  const listed = new Set(
    Object.values(sections).flatMap(({ page, groups }) => [
      addressOf(page),
      ...groups.flatMap(({ items }) => items.map(({ link }) => link)),
    ]),
  )
  const documents = ['docs/*.md', 'docs/*/*.md', '*.md'].flatMap((pattern) =>
    globSync(pattern, { cwd: root }),
  )
  expect(documents.map(addressOf).filter((address) => address !== '/' && !listed.has(address))).toEqual([])
})
