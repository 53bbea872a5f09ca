/** The tables of settings in docs/algorithms say what the schemas say: npm run docs:api. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withSettings } from '../../scripts/api/settingsTables.ts'

const pages = globSync('docs/algorithms/*.md').map((file) => [file, readFileSync(file, 'utf8')] as const)

test.each(pages.filter(([, page]) => page.includes('<!-- settings: ')))('%s', (_, page) => {
  expect(withSettings(page)).toBe(page)
})

test('a default or limit that changed is found, and an algorithm that does not exist', () => {
  const old = '<!-- settings: rloo -->\n| `klCoefficient` | `1` |\n<!-- end of settings -->'
  expect(withSettings(old)).toContain('| `klCoefficient` | `0.05` | Weight β')
  expect(() => withSettings(old.replace('rloo', 'none'))).toThrow('settings of none')
})
