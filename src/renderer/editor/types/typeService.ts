/**
 * The type checker behind the code editor. Reading guide:
 *
 *   typeService.ts   (here) TypeScript's language service over three texts in memory: library, contract, the code
 *   ambient.ts       the contract and the columns of the rows as declarations; lossTypes.ts and
 *                    workflowTypes.ts those of losses and workflows
 *   injectTypes.ts   types for what the code leaves to the contract, inserted into the checked text; position mapping
 *   libraries.ts     declarations of what the sandbox's JavaScript has
 *   typeWorker.ts    the worker around all this
 */
import { createSystem, createVirtualTypeScriptEnvironment } from '@typescript/vfs'
import ts from 'typescript'
import { ambientTypes, type CodeContext } from './ambient.ts'
import { insertInto, missingTypes, type CodeLanguage, type MappedText } from './injectTypes.ts'
import type { Libraries } from './libraries.ts'

/* Places count characters from 0 in the code as written. */

export interface CheckedCode {
  readonly code: string
  readonly language: CodeLanguage
}

interface PlaceInCode extends CheckedCode {
  readonly at: number
}

interface CodeProblem {
  readonly from: number
  readonly to: number
  readonly severity: 'error' | 'warning'
  readonly sentence: string
}

export interface Completion {
  readonly label: string
  /** Start of the replaced text if it differs from the list's: a column in brackets replaces the dot. */
  readonly from: number | null
  /** Inserted text if it differs from the label: `["a column"]`. */
  readonly insert: string | null
  /** Kind in the checker's terms: property, function, keyword… */
  readonly kind: string
  readonly order: string
}

interface CompletionList {
  /** Start of the replaced text. */
  readonly from: number
  readonly items: readonly Completion[]
}

/** Type as a line of code, with its documentation. */
export interface Explanation {
  readonly from: number
  readonly to: number
  readonly signature: string
  readonly documentation: string
}

export interface Signature {
  /** Signature text before the parameter being typed. */
  readonly before: string
  readonly parameter: string
  readonly after: string
  readonly documentation: string
}

export type TypeService = ReturnType<typeof createTypeService>

/** Name under which TypeScript looks for the library of its target. */
const globalsFile = '/lib.es2024.full.d.ts'
const iteratorsFile = '/iterators.d.ts'
const ambientFile = '/contract.d.ts'

/** Options for code whose types are stripped and which has nothing to import. */
const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2024,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  strict: true,
  useUnknownInCatchVariables: false,
  erasableSyntaxOnly: true,
  allowJs: true,
  checkJs: true,
  noEmit: true,
  skipLibCheck: true,
  types: [],
}

export function createTypeService(libraries: Libraries) {
  const texts = new Map([
    [globalsFile, libraries.globals],
    [iteratorsFile, libraries.iterators],
    [ambientFile, ambientTypes(null)],
  ])
  const roots = [iteratorsFile, ambientFile]
  const types = createVirtualTypeScriptEnvironment(createSystem(texts), roots, ts, options)
  const set = (name: string, text: string) => {
    if (texts.get(name) !== text) types.createFile(name, text)
  }
  const open = ({ code, language }: CheckedCode): OpenCode => {
    const name = `/reward.${language}`
    const file = ts.createSourceFile(name, code, ts.ScriptTarget.ES2024, true)
    const mapped = insertInto(code, missingTypes(file, language))
    set(name, `${mapped.text}\n`) // an empty file would count as none
    return { service: types.languageService, name, mapped, code }
  }
  return {
    setContext: (context: CodeContext) => set(ambientFile, ambientTypes(context)),
    problems: (input: CheckedCode) => problemsOf(open(input), input),
    complete: (input: PlaceInCode) => completionsAt(open(input), input.at),
    describe: (input: PlaceInCode & { readonly label: string }) =>
      describedCompletion(open(input), input.at, input.label),
    explain: (input: PlaceInCode) => explanationAt(open(input), input.at),
    signature: (input: PlaceInCode) => signatureAt(open(input), input.at),
  }
}

interface OpenCode {
  readonly service: ts.LanguageService
  readonly name: string
  readonly mapped: MappedText
  readonly code: string
}

function problemsOf(open: OpenCode, { language }: CheckedCode): CodeProblem[] {
  const { service, name } = open
  const syntax = service.getSyntacticDiagnostics(name)
  // Errors that follow from broken syntax are of no use.
  if (syntax.length > 0) return syntax.map((each) => problemOf(open, each, 'error'))
  const severity = language === 'ts' ? 'error' : 'warning'
  return service
    .getSemanticDiagnostics(name)
    .filter(({ code }) => !isOfNoUse(code))
    .map((each) => problemOf(open, each, severity))
}

function problemOf(
  open: OpenCode,
  diagnostic: ts.Diagnostic,
  severity: CodeProblem['severity'],
): CodeProblem {
  const start = diagnostic.start ?? 0
  const from = open.mapped.toOriginal(start)
  const to = open.mapped.toOriginal(start + (diagnostic.length ?? 0))
  const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')
  const { code } = diagnostic
  const sentence = inPlainWords({ code, message, text: open.code.slice(from, to) })
  const rank = isMissingColumn({ code, message }) ? 'warning' : severity
  const place = to > from ? { from, to } : widened(open.code, from)
  return { ...place, severity: rank, sentence }
}

/** Returns the code to mark for a position in an inserted type: its line up to there. */
function widened(code: string, at: number): { readonly from: number; readonly to: number } {
  const line = code.lastIndexOf('\n', at - 1) + 1
  const indent = /^\s*/.exec(code.slice(line, at))?.[0].length ?? 0
  return line + indent < at
    ? { from: line + indent, to: at }
    : { from: at, to: Math.min(code.length, at + 1) }
}

/** Internal names of the contract, hidden from completion. */
const hidden = new Set([
  'environmentOf',
  'SettingValues',
  'Remembered',
  'CallInput',
  'ModuleSettings',
  'globalThis',
  'undefined',
])

function completionsAt({ service, name, mapped, code }: OpenCode, at: number): CompletionList | null {
  const list = service.getCompletionsAtPosition(name, mapped.toMapped(at), {
    includeCompletionsWithInsertText: true,
    includeCompletionsForModuleExports: false,
    quotePreference: 'single',
  })
  if (list === undefined) return null
  const items = list.entries.flatMap((entry): Completion[] => {
    if (hidden.has(entry.name) || entry.kind === ts.ScriptElementKind.warning) return []
    const { name: label, insertText = null, kind, sortText: order, replacementSpan } = entry
    const from = replacementSpan === undefined ? null : mapped.toOriginal(replacementSpan.start)
    return [{ label, from, insert: insertText, kind, order }]
  })
  return { from: wordStart(code, at), items }
}

const wordStart = (code: string, at: number): number =>
  at - (/[\w$]*$/.exec(code.slice(0, at))?.[0].length ?? 0)

function describedCompletion(
  { service, name, mapped }: OpenCode,
  at: number,
  label: string,
): Explanation | null {
  const place = mapped.toMapped(at)
  const found = service.getCompletionEntryDetails(name, place, label, {}, undefined, {}, undefined)
  if (found === undefined) return null
  return { from: at, to: at, ...wordsOf(found.displayParts, found.documentation) }
}

function explanationAt({ service, name, mapped }: OpenCode, at: number): Explanation | null {
  const found = service.getQuickInfoAtPosition(name, mapped.toMapped(at))
  if (found === undefined) return null
  const { start, length } = found.textSpan
  return {
    from: mapped.toOriginal(start),
    to: mapped.toOriginal(start + length),
    ...wordsOf(found.displayParts, found.documentation),
  }
}

const wordsOf = (
  display: readonly ts.SymbolDisplayPart[] | undefined,
  documentation: readonly ts.SymbolDisplayPart[] | undefined,
): Pick<Explanation, 'signature' | 'documentation'> => ({
  signature: plain(display),
  documentation: plain(documentation),
})

const plain = (parts: readonly ts.SymbolDisplayPart[] | undefined): string =>
  ts.displayPartsToString([...(parts ?? [])])

function signatureAt({ service, name, mapped }: OpenCode, at: number): Signature | null {
  const help = service.getSignatureHelpItems(name, mapped.toMapped(at), undefined)
  const item = help?.items[help.selectedItemIndex]
  if (help === undefined || item === undefined) return null
  const separator = plain(item.separatorDisplayParts)
  const parameters = item.parameters.map(({ displayParts }) => plain(displayParts))
  const place = Math.min(help.argumentIndex, Math.max(0, parameters.length - 1))
  const before = parameters.slice(0, place).map((text) => text + separator)
  const after = parameters.slice(place + 1).map((text) => separator + text)
  return {
    before: plain(item.prefixDisplayParts) + before.join(''),
    parameter: parameters[place] ?? '',
    after: after.join('') + plain(item.suffixDisplayParts),
    documentation: plain(item.parameters[place]?.documentation) || plain(item.documentation),
  }
}

/* What the type checker finds, in words that fit code which scores completions. */

interface Finding {
  readonly code: number
  readonly message: string
  readonly text: string
}

/**
 * Error codes not reported. Values of type unknown may be inspected: types are gone at run time, and parsed JSON is
 * meant to be inspected. Types are optional: without them a value is any, but a list that begins empty gets the type
 * of what is put into it.
 */
const ofNoUse = new Set([
  ...[2571, 18046],
  ...[
    7005, 7006, 7008, 7009, 7010, 7011, 7015, 7016, 7017, 7018, 7019, 7022, 7023, 7024, 7031, 7033, 7034,
    7053,
  ],
])

const isOfNoUse = (code: number): boolean => ofNoUse.has(code)

/** Names from other environments that people try to use. */
const absent: Readonly<Record<string, string>> = {
  fetch: 'the network cannot be reached',
  XMLHttpRequest: 'the network cannot be reached',
  WebSocket: 'the network cannot be reached',
  require: 'nothing can be imported',
  module: 'use export',
  exports: 'use export',
  process: 'this is no Node program',
  Buffer: 'this is no Node program',
  window: 'this is no web page',
  document: 'this is no web page',
  setTimeout: 'nothing can be waited for',
  setInterval: 'nothing can be waited for',
  performance: 'there is no clock',
  Intl: 'there are no locales',
  structuredClone: 'copy by JSON.parse(JSON.stringify(value))',
}

const noName = new Set([2304, 2503, 2552, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593])
const noProperty = new Set([2339, 2551])
const noModule = new Set([2307, 2792])

/** True for missing columns, which code may look for and do without. */
const isMissingColumn = ({ code, message }: Pick<Finding, 'code' | 'message'>): boolean =>
  noProperty.has(code) && message.includes("on type 'Row'")

/** Codes for functions that do not return on every path. */
const noReturn = new Set([2355, 2366, 7030])

function inPlainWords({ code, message, text }: Finding): string {
  if (isMissingColumn({ code, message })) return columnSentence(message)
  if (noModule.has(code)) return noImports
  if (noReturn.has(code))
    return 'Not every path returns a number or null: a path without return fails the sample.'
  return noName.has(code) ? nameSentence(message, text) : scoreSentence(message)
}

const noImports = 'Nothing can be imported: the code runs alone, without files and network.'

function nameSentence(message: string, text: string): string {
  if (/^['"]/.test(text)) return noImports
  const reason = Object.hasOwn(absent, text) ? absent[text] : undefined
  return reason === undefined ? message : `There is no “${text}” in here: ${reason}.`
}

function columnSentence(message: string): string {
  const [, name = ''] = /Property '(.*?)' does not exist/.exec(message) ?? []
  const [, other] = /Did you mean '(.*?)'/.exec(message) ?? []
  return `The rows have no column “${name}”.${other === undefined ? '' : ` Is “${other}” meant?`}`
}

function scoreSentence(message: string): string {
  const [, type] =
    /^Type '(.*?)' is not assignable to type '(?:Score|Score \| Promise<Score>|number \| Promise<Score> \| null)'/.exec(
      message,
    ) ?? []
  return type === undefined ? message : `A reward function returns a number or null, not ${type}.`
}
