/**
 * Types for code that declares none. A reward function is written as `({ completion, row }) => …`; the types of these
 * parameters follow from the contract and are inserted into the checked text (never into the user's text).
 */
import ts from 'typescript'

export type CodeLanguage = 'ts' | 'js'

type RewardLike = ts.FunctionDeclaration | ts.ArrowFunction | ts.FunctionExpression | ts.MethodDeclaration

interface Target {
  readonly file: ts.SourceFile
  readonly language: CodeLanguage
  readonly settings: string
}

/** Returns insertions for the exports of a module that lack the types of the contract. */
export function missingTypes(file: ts.SourceFile, language: CodeLanguage): Insertion[] {
  const settings = hasSettings(file) ? 'ModuleSettings' : 'SettingValues'
  const target = { file, language, settings }
  const types = [...exportedValues(file)].flatMap(({ name, value }) => insertionsFor(target, name, value))
  return settings === 'ModuleSettings' ? [{ at: 0, text: settingsAlias[language] }, ...types] : types
}

/** Alias for the module's settings, since a parameter called settings would shadow them. */
const settingsAlias: Readonly<Record<CodeLanguage, string>> = {
  ts: 'type ModuleSettings = typeof settings; ',
  js: '/** @typedef {typeof settings} ModuleSettings */ ',
}

const noSettings: Readonly<Record<CodeLanguage, string>> = {
  ts: 'null! as ModuleSettings',
  js: '/** @type {ModuleSettings} */ (/** @type {unknown} */ (null))',
}

interface ExportedValue {
  readonly name: string
  readonly value: ts.Expression | ts.FunctionDeclaration
}

/** Yields the values a module exports, resolving names at its top level. */
function* exportedValues(file: ts.SourceFile): Generator<ExportedValue> {
  const locals = new Map([...declaredValues(file)].map(({ name, value }) => [name, value]))
  for (const statement of file.statements) {
    if (isExported(statement)) yield* valuesOf(statement)
    else if (ts.isExportAssignment(statement)) {
      const { expression } = statement
      const value = ts.isIdentifier(expression) ? locals.get(expression.text) : expression
      if (value !== undefined) yield { name: 'default', value }
    } else if (ts.isExportDeclaration(statement)) yield* listedValues(statement, locals)
  }
}

function* listedValues(
  { exportClause }: ts.ExportDeclaration,
  locals: ReadonlyMap<string, ExportedValue['value']>,
): Generator<ExportedValue> {
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) return
  for (const { name, propertyName } of exportClause.elements) {
    const value = locals.get((propertyName ?? name).text)
    if (value !== undefined) yield { name: name.text, value }
  }
}

function* declaredValues(file: ts.SourceFile): Generator<ExportedValue> {
  for (const statement of file.statements) yield* valuesOf(statement)
}

function* valuesOf(statement: ts.Statement): Generator<ExportedValue> {
  if (ts.isFunctionDeclaration(statement)) yield { name: statement.name?.text ?? 'default', value: statement }
  if (!ts.isVariableStatement(statement)) return
  for (const { name, initializer, type } of statement.declarationList.declarations) {
    if (ts.isIdentifier(name) && initializer !== undefined && type === undefined)
      yield { name: name.text, value: initializer }
  }
}

const isExported = (statement: ts.Statement): boolean =>
  ts.canHaveModifiers(statement) &&
  ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true

const hasSettings = (file: ts.SourceFile): boolean =>
  [...exportedValues(file)].some(({ name, value }) => name === 'settings' && !ts.isFunctionDeclaration(value))

function insertionsFor(target: Target, name: string, value: ExportedValue['value']): Insertion[] {
  if (isFunction(value)) return rewardTypes(target, value)
  if (!ts.isObjectLiteralExpression(value)) return []
  if (name === 'default' && hasMember(value, 'reset')) return environmentTypes(target, value)
  return name === 'rewards' ? groupTypes(target, value) : []
}

const isFunction = (node: ts.Node): node is RewardLike =>
  ts.isFunctionDeclaration(node) ||
  ts.isArrowFunction(node) ||
  ts.isFunctionExpression(node) ||
  ts.isMethodDeclaration(node)

const hasMember = (object: ts.ObjectLiteralExpression, name: string): boolean =>
  object.properties.some((member) => member.name?.getText() === name)

/** Wraps an environment in `environmentOf`, which infers the state of `step` from what `reset` returns. */
function environmentTypes(target: Target, value: ts.ObjectLiteralExpression): Insertion[] {
  const { file, language, settings } = target
  const given = settings === 'ModuleSettings' ? noSettings[language] : ''
  return [
    { at: value.getStart(file), text: `environmentOf(${given})(` },
    ...value.properties.flatMap((member) => turnType(target, member)),
    { at: value.end, text: ')' },
  ]
}

/** Adds a return type, so that errors in what `step` returns are marked at their own place. */
function turnType({ file, language }: Target, member: ts.ObjectLiteralElementLike): Insertion[] {
  if (language === 'js' || !ts.isMethodDeclaration(member) || member.name.getText(file) !== 'step') return []
  const close = closeParenthesis(member, file)
  if (close === undefined || member.type !== undefined) return []
  return [{ at: close.end, text: isAsync(member) ? ': Promise<Step>' : ': Step | Promise<Step>' }]
}

const closeParenthesis = (node: RewardLike, file: ts.SourceFile): ts.Node | undefined =>
  node.getChildren(file).find(({ kind }) => kind === ts.SyntaxKind.CloseParenToken)

const isAsync = (node: RewardLike): boolean =>
  ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) === true

function groupTypes(target: Target, { properties }: ts.ObjectLiteralExpression): Insertion[] {
  return properties.flatMap((member) => {
    if (ts.isMethodDeclaration(member)) return rewardTypes(target, member)
    const value = ts.isPropertyAssignment(member) ? member.initializer : null
    return value !== null && isFunction(value) ? rewardTypes(target, value) : []
  })
}

function rewardTypes(target: Target, node: RewardLike): Insertion[] {
  if (node.asteriskToken !== undefined) return []
  return target.language === 'ts' ? annotations(target, node) : comments(target, node)
}

function annotations({ file, settings }: Target, node: RewardLike): Insertion[] {
  const [first] = node.parameters
  const close = closeParenthesis(node, file)
  const input = `: RewardInput<${settings}>`
  const result = node.type === undefined ? `: ${resultType(node)}` : ''
  if (first === undefined) return close === undefined ? [] : [{ at: close.end, text: result }]
  if (close === undefined) {
    // x => … needs parentheses first.
    return [
      { at: first.getStart(file), text: '(' },
      { at: first.end, text: `${input})${result}` },
    ]
  }
  const parameter = first.type === undefined ? [{ at: first.name.end, text: input }] : []
  return [...parameter, { at: close.end, text: result }]
}

const resultType = (node: RewardLike): string => (isAsync(node) ? 'Promise<Score>' : 'Score | Promise<Score>')

/** Adds the types as comments, unless the code has its own. */
function comments({ file, settings }: Target, node: RewardLike): Insertion[] {
  const [first] = node.parameters
  const isCommented =
    ts.getJSDocTags(node).length > 0 || (first !== undefined && ts.getJSDocTags(first).length > 0)
  if (isCommented) return []
  const result = { at: node.getStart(file), text: `/** @returns {${resultType(node)}} */ ` }
  const isDeclared = ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node)
  if (!isDeclared) {
    return [
      { at: node.getStart(file), text: `/** @satisfies {RewardFunction<${settings}>} */ (` },
      { at: node.end, text: ')' },
    ]
  }
  if (first === undefined) return [result]
  return [result, { at: first.getStart(file), text: `/** @type {RewardInput<${settings}>} */ ` }]
}

/* A text with pieces put into it, and the way between places in the two. */

interface Insertion {
  readonly at: number
  readonly text: string
}

export interface MappedText {
  readonly text: string
  /** Maps to the position behind text inserted at the same offset. */
  toMapped(offset: number): number
  /** Maps a position inside inserted text to the point of insertion. */
  toOriginal(offset: number): number
}

/** Inserts texts; those at the same offset keep the order given. */
export function insertInto(original: string, insertions: readonly Insertion[]): MappedText {
  const sorted = [...insertions].sort((a, b) => a.at - b.at)
  let text = ''
  let from = 0
  for (const { at, text: piece } of sorted) {
    text += original.slice(from, at) + piece
    from = at
  }
  text += original.slice(from)
  return {
    text,
    toMapped: (offset) =>
      sorted.reduce((moved, { at, text: piece }) => (at <= offset ? moved + piece.length : moved), offset),
    toOriginal(offset) {
      let shift = 0
      for (const { at, text: piece } of sorted) {
        const start = at + shift
        if (offset < start) break
        if (offset < start + piece.length) return at
        shift += piece.length
      }
      return offset - shift
    },
  }
}
