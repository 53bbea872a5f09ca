/** The files of src as the compiler's parser sees them: imports, functions and doc comments. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'

export interface SourceFile {
  /** Path from the root of the repository. */
  readonly path: string
  readonly lines: number
  /** Files of src that it imports, types included. */
  readonly imports: readonly string[]
  /** Those of them that are loaded with it: no types, nothing that is imported on demand. */
  readonly loads: readonly string[]
  /** Lines of each function with a body. */
  readonly functions: readonly number[]
  /** Text of each doc comment without its marks, and of the headline of the file. */
  readonly comments: readonly string[]
}

/** Reads all files under src of the repository at `root`. */
export function readSources(root: string): SourceFile[] {
  const paths = globSync('src/**/*.{ts,tsx}', { cwd: root })
    .map((file) => file.split(path.sep).join('/'))
    .sort()
  const known = new Set(paths)
  return paths.map((file) => {
    const text = readFileSync(path.join(root, file), 'utf8')
    const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, kindOf(file))
    return {
      path: file,
      lines: text.split('\n').length - 1,
      imports: importsOf(tree, file).filter((name) => known.has(name)),
      loads: importsOf(tree, file, isLoaded).filter((name) => known.has(name)),
      functions: functionsOf(tree),
      comments: commentsOf(text),
    }
  })
}

const kindOf = (file: string): ts.ScriptKind => (file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS)

const isLoaded = (node: ts.Node): boolean =>
  ts.isImportDeclaration(node)
    ? !node.importClause || node.importClause.phaseModifier !== ts.SyntaxKind.TypeKeyword
    : ts.isExportDeclaration(node) && !node.isTypeOnly

function importsOf(
  tree: ts.SourceFile,
  file: string,
  isCounted: (node: ts.Node) => boolean = () => true,
): string[] {
  const found = new Set<string>()
  const visit = (node: ts.Node): void => {
    const name = isCounted(node) ? specifierOf(node) : undefined
    if (name?.startsWith('#')) found.add(path.posix.join('src', name.slice(1)))
    else if (name?.startsWith('.')) found.add(path.posix.join(path.posix.dirname(file), name))
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return [...found]
}

function specifierOf(node: ts.Node): string | undefined {
  const named =
    ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
      ? node.moduleSpecifier
      : ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
        ? node.arguments[0]
        : ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
          ? node.argument.literal
          : undefined
  return named && ts.isStringLiteral(named) ? named.text : undefined
}

function functionsOf(tree: ts.SourceFile): number[] {
  const found: number[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const [from, to] = [node.getStart(tree), node.end].map((at) => tree.getLineAndCharacterOfPosition(at))
      found.push((to?.line ?? 0) - (from?.line ?? 0) + 1)
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

const commentsOf = (text: string): string[] =>
  [...text.matchAll(/\/\*\*(?!\/)([\s\S]*?)\*\//g)]
    .map(([, inside = '']) => inside.replaceAll(/^\s*\* ?/gm, '').trim())
    .filter((comment) => comment !== '' && !comment.startsWith('@'))
