/** The documents name nothing that is not there, and the check that says so finds what is planted. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { addressOf } from '../../site/.vitepress/contents.ts'
import { findingsIn, unlistedPages } from '../../scripts/docs/findings.ts'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'

const { stdout, status } = spawnSync(process.execPath, ['scripts/docs/check.ts'], { encoding: 'utf8' })
const problems = stdout.split('\n').filter((line) => /^\S+: /.test(line))

test('the documents of the project name nothing that is not there', () => {
  expect(stdout).toMatch(/^\d+ documents, \d+ problems\n$/m)
  expect(problems.filter((line) => !line.startsWith('docs/images/'))).toEqual([])
})

test('the pictures of the documents show the window of today, beside no other work', () => {
  expect(problems.filter((line) => line.startsWith('docs/images/'))).toEqual([])
  expect(status).toBe(problems.length === 0 ? 0 : 1)
})

test('README can be read in a few minutes: at most 900 words', () => {
  expect(readFileSync('README.md', 'utf8').split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(900)
})

const root = temporaryFolder()
mkdirSync(path.join(root, 'src/engine'), { recursive: true })
writeFileSync(path.join(root, 'src/engine/run.ts'), '')
writeFileSync(path.join(root, 'other.md'), '# A heading: of two\n')
const repository = { root, files: ['src/engine/run.ts', 'other.md'], scripts: new Set(['check']) }

const problemsOf = (text: string) => {
  writeFileSync(path.join(root, 'guide.md'), text)
  return findingsIn('guide.md', repository).map(({ line, problem }) => `${String(line)}: ${problem}`)
}

test('what is there is not complained of', () => {
  const document = [
    '[a](other.md#a-heading-of-two) and [b](https://example.org/none), `engine/run.ts`, `run.ts`, `a/b` of a model',
    '`turnwise selftest --device …`, `turnwise help train`, `turnwise COMMAND --help`',
    '```sh\nnpm run -s turnwise -- train my.json --json   # trains\nnpm run check && node src/engine/run.ts\n```',
    '```ts\nimport nothing from "nowhere/run.ts" // turnwise nothing\n```',
  ]
  expect(problemsOf(document.join('\n'))).toEqual([])
})

test.each([
  ['[a](none.md)', 'There is no file none.md.'],
  ['[a](other.md#nothing)', 'other.md has no heading #nothing.'],
  ['`engine/walk.ts`', 'There is no engine/walk.ts.'],
  ['`engine/{run,walk}.ts`', 'There is no engine/walk.ts.'],
  ['`walk.ts`', 'No file is called walk.ts.'],
  ['`runtime/walk.ts`', 'No file is called runtime/walk.ts.'],
  ['`turnwise trian`', 'There is no command “trian”.'],
  ['`turnwise train my.json --sead 3`', 'Command train has no option --sead.'],
  ['`npm run chekc`', 'package.json has no script chekc.'],
])('%s is found', (text, problem) => {
  expect(problemsOf(`\n${text}`)).toEqual([`2: ${problem}`])
  if (text.startsWith('`turnwise') || text.startsWith('`npm')) {
    expect(problemsOf(`\n\`\`\`sh\n${text.replaceAll('`', '')}\n\`\`\``)).toEqual([`3: ${problem}`])
  }
})

test('a heading that the contents of its page omit is found, and a page without contents may have any', () => {
  const contents = '- [One](#one)\n- [Two](#two)\n- [Three](#three)\n'
  const sections = '## One\n\n## Two\n\n## Three\n'
  expect(problemsOf(`# Page\n\n${contents}\n${sections}`)).toEqual([])
  expect(problemsOf(`# Page\n\n${contents}\n${sections}\n## Four\n`)).toEqual([
    '13: The contents at the top of the page do not list this heading.',
  ])
  expect(problemsOf(`# Page\n\n${sections}`)).toEqual([])
})

test('a page that no contents of the site list is found', () => {
  const pages = ['README.md', 'docs/guide/faq.md', 'docs/guide/README.md', 'docs/new.md', 'tests/notes.md']
  expect(unlistedPages(pages, ['/docs/guide/', '/docs/guide/faq'], addressOf)).toEqual(['docs/new.md'])
})
