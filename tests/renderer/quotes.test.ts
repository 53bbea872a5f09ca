import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const sources = path.resolve(import.meta.dirname, '../../src')
const root = path.join(sources, 'renderer')

/** Texts of a file: strings, templates and what stands between tags. */
function textsOf(file: string): readonly string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const texts: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteral(node) || ts.isJsxText(node) || ts.isTemplateLiteralToken(node))
      texts.push(node.text)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return texts
}

/** `"word` or `'some words'` in a sentence; code, selectors and markup have them too, so a space must be near. */
const straight = /[a-z] "[A-Za-z$][^"=<>]*"|[a-z] '[A-Za-z$][^'=<>]*'(?![a-z])/

const isFont = (text: string): boolean => /^(\d+ )?\d+px /.test(text)

test('the window quotes as “this” and in no other way', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.startsWith('editor/types'))
    .map((file) => path.join(root, file))
  expect(files.length).toBeGreaterThan(100)
  const wrong = files.flatMap((file) =>
    textsOf(file)
      .filter((text) => /[«»„]/.test(text) || (straight.test(text) && !isFont(text)))
      .map((text) => `${path.relative(root, file)}: ${text.trim()}`),
  )
  expect(wrong).toEqual([])
})

/** What other programs and models read: shell, SQL, JSON, exported files, answers of the sandbox, a task. */
const forPrograms =
  /^host\/(sandbox\/(harness|sandboxLink)|python\/mcpEnvironment|export\/exportWriters|store\/)|^shared\/csv|^engine\/text\/toolCalls|^rl\/environments\/tasks\/letters/

test('errors and findings quote what they name as the window does', () => {
  const files = ['cli', 'engine', 'host', 'main', 'rl', 'shared'].flatMap((folder) =>
    readdirSync(path.join(sources, folder), { recursive: true, encoding: 'utf8' })
      .map((file) => path.join(folder, file))
      .filter((file) => file.endsWith('.ts') && !forPrograms.test(file)),
  )
  expect(files.length).toBeGreaterThan(300)
  // A piece of a template that ends with an opening quote behind a word.
  const wrong = files.flatMap((file) =>
    textsOf(path.join(sources, file))
      .filter((text) => /[a-z:] "$/.test(text))
      .map((text) => `${file}: ${text.trim()}`),
  )
  expect(wrong).toEqual([])
})
