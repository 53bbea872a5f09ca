/**
 * The declarations of what the package exports, and of every type they rest on, as their sources have them. Reading guide of
 * this folder:
 *
 *   declarations.ts  (here) which declarations there are
 *   settings.ts      types that are made of data: the settings of a run, the names of metrics
 *   document.ts      docs/api.md, from the same declarations
 *   write.ts         the command
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { ambientTypes } from '../../src/renderer/editor/types/ambient.ts'
import { generatedTypes } from './settings.ts'

const root = path.resolve(import.meta.dirname, '../..')
const entry = path.join(root, 'src/library/turnwise.ts')

export interface Declaration {
  readonly name: string
  readonly kind: 'function' | 'class' | 'constant' | 'type'
  /** Whether a program can import it, and whether as a value. */
  readonly isPublic: boolean
  readonly isValue: boolean
  /** As TypeScript, comments included; without `export` and `declare`. */
  readonly text: string
  /** The module it is from: a path from the root on. */
  readonly source: string
}

/** What code in the sandbox finds around itself, as the window's editor knows it, and which of these types have a public name. */
const sandbox = [
  {
    source: 'loss',
    text: ambientTypes('loss'),
    types: ['LossDefinition', 'LossInputs', 'AdvantageRow', 'Tensor'],
  },
  {
    source: 'reward',
    text: ambientTypes(null),
    types: ['RewardFunction', 'RewardInput', 'Score', 'Token', 'Row'],
  },
  {
    source: 'workflow',
    text: ambientTypes({ workflowOn: null }),
    types: ['WorkflowDefinition', 'EpisodeInput', 'WorkflowTrajectory'],
  },
]

/** Where a name leads. */
interface Place {
  readonly source: string
  readonly name: string
}

/** A module as declarations. */
interface Module {
  readonly source: string
  readonly own: ReadonlyMap<string, readonly Named[]>
  /** Imported, or exported from elsewhere: name → place. */
  readonly others: ReadonlyMap<string, Place>
  /** Exported names. */
  readonly exported: ReadonlyMap<string, { readonly isType: boolean }>
}

type Named =
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.ClassDeclaration
  | ts.FunctionDeclaration
  | ts.VariableStatement

const isNamed = (statement: ts.Statement): statement is Named =>
  [
    ts.isInterfaceDeclaration,
    ts.isTypeAliasDeclaration,
    ts.isClassDeclaration,
    ts.isFunctionDeclaration,
    ts.isVariableStatement,
  ].some((is) => is(statement))

const nameOf = (statement: Named): string =>
  ts.isVariableStatement(statement)
    ? (statement.declarationList.declarations[0]?.name.getText() ?? '')
    : (statement.name?.text ?? '')

const parsed = (source: string, text: string): ts.SourceFile =>
  ts.createSourceFile(source, text, ts.ScriptTarget.ES2024, true)

function declaredBy(source: string): string {
  const text = readFileSync(source, 'utf8')
  headers.set(source, /^\/\*\*[^]*?\*\/(?=\n(?:\n|import ))/.exec(text)?.[0] ?? '')
  const compilerOptions = { target: ts.ScriptTarget.ES2024, stripInternal: true, isolatedDeclarations: true }
  return ts.transpileDeclaration(text, { compilerOptions, fileName: source }).outputText
}

/** The module that a statement imports or exports from: a path, of a package its name. */
function resolved(source: string, statement: ts.Statement): string {
  const isOther = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)
  const specifier = isOther ? statement.moduleSpecifier : undefined
  const name = specifier && ts.isStringLiteral(specifier) ? specifier.text : source
  if (name.startsWith('.')) return path.resolve(path.dirname(source), name)
  return name.startsWith('#') ? path.join(root, 'src', name.slice(1)) : name
}

/** What is exported from elsewhere without names is code for the sandbox, whose declarations are the editor's. */
function read(source: string, text: string): Module {
  const own = new Map<string, Named[]>()
  const others = new Map<string, Place>()
  const exported = new Map<string, { isType: boolean }>()
  for (const statement of parsed(source, text).statements) {
    if (isNamed(statement)) {
      const name = nameOf(statement)
      own.set(name, [...(own.get(name) ?? []), statement])
      if (isExported(statement)) exported.set(name, { isType: false })
    }
    const from = resolved(source, statement)
    for (const { name, propertyName = name } of namesIn(statement)) {
      if (from !== source) others.set(name.text, { source: from, name: propertyName.text })
      if (ts.isExportDeclaration(statement)) exported.set(name.text, { isType: statement.isTypeOnly })
    }
  }
  return { source, own, others, exported }
}

const isExported = ({ modifiers }: Named): boolean =>
  modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true

/** Imported or exported by name. */
function namesIn(statement: ts.Statement): readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] {
  const isExport = ts.isExportDeclaration(statement)
  if (!isExport && !ts.isImportDeclaration(statement)) return []
  const clause = isExport ? statement.exportClause : statement.importClause?.namedBindings
  return clause !== undefined && 'elements' in clause ? [...clause.elements] : []
}

/** Names that a declaration rests on. */
function* typesIn(node: ts.Node): Generator<string> {
  if (ts.isImportTypeNode(node)) throw new Error(`A declaration has no name for ${node.getText()}.`)
  if (ts.isTypeReferenceNode(node)) yield node.typeName.getText()
  if (ts.isTypeQueryNode(node)) yield node.exprName.getText()
  if (ts.isExpressionWithTypeArguments(node)) yield node.expression.getText()
  const children: ts.Node[] = []
  node.forEachChild((child) => void children.push(child))
  for (const child of children) yield* typesIn(child)
}

/** Code of one kind may have a type of a name that means something else elsewhere: then the kind stands in front of it. */
function withOwnNames(source: string, text: string, others: ReadonlyMap<string, Declaration>): string {
  const { own } = read(source, text)
  const isTaken = (name: string) => {
    const [there, here] = [others.get(name)?.text, own.get(name)?.map(textOf).join('\n')]
    return there !== undefined && here !== undefined && there !== here
  }
  const prefix = source.charAt(0).toUpperCase() + source.slice(1)
  const places: ts.Identifier[] = []
  const look = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && isTaken(node.text)) places.push(node)
    node.forEachChild(look)
  }
  look(parsed(source, text))
  return places.reduceRight(
    (renamed, place) => `${renamed.slice(0, place.getStart())}${prefix}${renamed.slice(place.getStart())}`,
    text,
  )
}

class Collection {
  readonly found = new Map<string, Declaration>()
  readonly #modules = new Map<string, Module>()

  /** With all it rests on. Throws where two declarations have one name. */
  add(name: string, module: Module, use: Pick<Declaration, 'isPublic' | 'isValue'>): void {
    const other = module.others.get(name)
    if (other !== undefined) {
      this.add(other.name, this.module(other.source), use)
      return
    }
    const statements = statementsOf(name, module)
    if (statements === undefined) return // of the language, or a type parameter
    const known = this.found.get(name)
    const made = declaration(name, module.source, statements)
    if (known !== undefined && known.text !== made.text)
      throw new Error(`Two declarations are called ${name}: in ${known.source} and in ${made.source}.`)
    const uses = known === undefined ? [use] : [use, known]
    const isPublic = uses.some((each) => each.isPublic)
    const isValue = made.kind !== 'type' && uses.some((each) => each.isValue)
    this.found.set(name, { ...made, ...known, isPublic, isValue })
    if (known !== undefined) return
    for (const used of statements.flatMap((each) => [...typesIn(each)]))
      this.add(used, module, { isPublic: false, isValue: false })
  }

  module(source: string): Module {
    const known = this.#modules.get(source)
    if (known !== undefined) return known
    if (!path.isAbsolute(source)) throw new Error(`A public type rests on ${source}.`)
    const module = read(source, declaredBy(source))
    this.#modules.set(source, module)
    return module
  }
}

const declaration = (name: string, source: string, statements: readonly Named[]) => ({
  name,
  kind: kindOf(statements[0]),
  text: statements.map(textOf).join('\n'),
  source: path.relative(root, source),
})

function statementsOf(name: string, { source, own }: Module): readonly Named[] | undefined {
  const generated = generatedTypes[name]
  return generated === undefined ? own.get(name) : read(source, generated).own.get(name)
}

function kindOf(statement: Named | undefined): Declaration['kind'] {
  if (statement === undefined) return 'type'
  if (ts.isFunctionDeclaration(statement)) return 'function'
  if (ts.isClassDeclaration(statement)) return 'class'
  if (!ts.isVariableStatement(statement)) return 'type'
  const [declared] = statement.declarationList.declarations
  return declared?.type && ts.isFunctionTypeNode(declared.type) ? 'function' : 'constant'
}

/** With its own comment: before the first declaration of a file there is also that of the file. */
function textOf(statement: Named): string {
  const comments = ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc)
  const own = comments
    .map((each) => each.getText())
    .findLast((each) => each !== headerOf(statement.getSourceFile()))
  const code = statement.getText().replace(/^(?:export )?(?:declare )?/, '')
  return own === undefined ? code : `${own}\n${code}`
}

const headers = new Map<string, string>()
const headerOf = ({ fileName }: ts.SourceFile): string | undefined => headers.get(fileName)

/** Public ones first, in the order of the entry. */
export function declarations(): readonly Declaration[] {
  const all = new Collection()
  const library = all.module(entry)
  for (const [name, { isType }] of library.exported)
    all.add(name, library, { isPublic: true, isValue: !isType })
  for (const { source, text, types } of sandbox) {
    const module = read(path.join(root, source), withOwnNames(source, text, all.found))
    for (const [name, [first]] of module.own)
      if (first && ts.isFunctionDeclaration(first) && name !== 'environmentOf')
        all.add(name, module, { isPublic: true, isValue: true })
    for (const name of types) all.add(name, module, { isPublic: true, isValue: false })
  }
  return withUnions([...all.found.values()]).sort((a, b) => Number(b.isPublic) - Number(a.isPublic))
}

/** What lists of choices are made of stands where they are used, as `'a' | 'b'`. */
function withUnions(all: readonly Declaration[]): Declaration[] {
  const lists = new Map(
    all.flatMap(({ name, kind, isPublic, text }) => {
      const [, choices] = /: readonly \[(.*)\];?$/.exec(text) ?? []
      return kind !== 'constant' || isPublic || choices === undefined
        ? []
        : [[name, choices.split(', ').join(' | ')]]
    }),
  )
  const union = (text: string) =>
    text.replaceAll(/\(typeof (\w+)\)\[number\]/g, (match, name: string) => lists.get(name) ?? match)
  return all.filter(({ name }) => !lists.has(name)).map((each) => ({ ...each, text: union(each.text) }))
}

/** As a module: `turnwise.d.ts`. */
export function declarationFile(all: readonly Declaration[]): string {
  const exports = (isValue: boolean) =>
    all.filter((each) => each.isPublic && each.isValue === isValue).map(({ name }) => name)
  const texts = all.map(({ text, kind }) => (kind === 'type' ? text : declared(text)))
  return [
    ...texts,
    `export { ${exports(true).join(', ')} }`,
    `export type { ${exports(false).join(', ')} }`,
    '',
  ].join('\n\n')
}

/** Overloads too. */
const declared = (text: string): string => text.replaceAll(/^(?=(?:function|class|const) )/gm, 'declare ')
