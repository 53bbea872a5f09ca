/**
 * Follows every link, path and command that the documents name, and fails on a dead one, on a page that no contents list,
 * and on a picture of an older window or a busy machine: `npm run docs:check`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { addressOf, sections } from '../../site/.vitepress/contents.ts'
import { findingsIn, unlistedPages } from './findings.ts'
import { pictureProblems, unknownPictures } from './pictures.ts'

const root = path.resolve(import.meta.dirname, '../..')
const skipped = new Set(['node_modules', 'out', 'dist', '.git', '.venv'])

function* filesBelow(folder: string): Generator<string> {
  for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
    const file = path.join(folder, entry.name)
    if (entry.isDirectory() && !skipped.has(entry.name)) yield* filesBelow(file)
    else if (entry.isFile()) yield file
  }
}

const files = [...filesBelow('')]
const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}
const repository = { root, files, scripts: new Set(Object.keys(scripts)) }
const documents = files.filter((file) => file.endsWith('.md'))
const texts = documents.map((file) => readFileSync(path.join(root, file), 'utf8'))
const listed = Object.values(sections).flatMap(({ page, groups }) => [
  addressOf(page),
  ...groups.flatMap(({ items }) => items.map(({ link }) => link)),
])
const problems = [
  ...documents.flatMap((file) =>
    findingsIn(file, repository).map(
      ({ line, text, problem }) => `${file}:${String(line)}: ${problem}\n    ${text}`,
    ),
  ),
  ...unlistedPages(documents, listed, addressOf).map(
    (file) => `${file}: No contents of the site list this page (site/.vitepress/contents.ts).`,
  ),
  ...pictureProblems(path.join(root, 'docs/images'), texts).map(
    ({ name, problem }) => `docs/images/${name}: ${problem}`,
  ),
]
for (const problem of problems) console.log(problem)
const unknown = unknownPictures(path.join(root, 'docs/images'))
if (unknown.length > 0)
  console.log(
    `Nobody recorded when these pictures were taken; npm run docs:pictures takes them anew: ${unknown.join(', ')}`,
  )
console.log(`${String(documents.length)} documents, ${String(problems.length)} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
