/**
 * `npm run docs:api` writes docs/api.md, docs/json.md and the tables of settings in docs/algorithms. With `package FOLDER` it writes what the package's entry is made of into FOLDER: the
 * declarations, and the module that a program imports.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { declarationFile, declarations, type Declaration } from './declarations.ts'
import { apiDocument } from './document.ts'
import { jsonDocument } from './jsonDocument.ts'
import { withSettings } from './settingsTables.ts'

const docs = path.resolve(import.meta.dirname, '../../docs')

/** Checks the Node version before loading the library, whose files an older Node cannot even parse. */
const moduleFile = (all: readonly Declaration[]): string =>
  `import { isNewEnough, nodeProblem } from '../../bin/node.mjs'

if (!isNewEnough()) throw new Error(\`turnwise: \${nodeProblem} A suitable one may be installed with the package: npx node PROGRAM\`)

export const {
${all
  .filter(({ isValue }) => isValue)
  .map(({ name }) => `  ${name},\n`)
  .join('')}} = await import('../main/turnwise.js')
`

/** Into \`folder\`, beside the folder \`main\` of what is built. */
export function writeEntry(folder: string): void {
  const all = declarations()
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'turnwise.d.ts'), declarationFile(all))
  writeFileSync(path.join(folder, 'turnwise.js'), moduleFile(all))
}

if (import.meta.main) {
  const [what, folder] = process.argv.slice(2)
  if (what === 'package' && folder !== undefined) writeEntry(folder)
  else {
    writeFileSync(path.join(docs, 'api.md'), await apiDocument(declarations()))
    writeFileSync(path.join(docs, 'json.md'), jsonDocument())
    for (const file of globSync('algorithms/*.md', { cwd: docs }).map((name) => path.join(docs, name)))
      writeFileSync(file, withSettings(readFileSync(file, 'utf8')))
  }
}
