/** Follows every link, path and command that the documents name, and fails on a dead one: `npm run docs:check`. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { findingsIn } from './findings.ts'

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
let dead = 0
for (const file of documents) {
  for (const { line, text, problem } of findingsIn(file, repository)) {
    dead++
    console.log(`${file}:${String(line)}: ${problem}\n    ${text}`)
  }
}
console.log(`${String(documents.length)} documents, ${String(dead)} dead references`)
process.exitCode = dead === 0 ? 0 : 1
