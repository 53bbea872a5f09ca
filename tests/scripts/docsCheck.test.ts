/** The documents name nothing that is not there, and the check that says so finds what is planted. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { findingsIn } from '../../scripts/docs/findings.ts'
import { temporaryFolder } from '../host/files/temporaryFolder.ts'

test('the documents of the project name nothing that is not there', () => {
  const { stdout, status } = spawnSync(process.execPath, ['scripts/docs/check.ts'], { encoding: 'utf8' })
  expect(stdout).toMatch(/^\d+ documents, 0 dead references\n$/)
  expect(status).toBe(0)
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
