/**
 * Settings of another tool as a flat list: YAML, JSON, or a command with `key=value` words (Hydra). Nothing in the text
 * is run, and variables of a shell are not filled in.
 */
import { parseAllDocuments } from 'yaml'
import { AppError } from '#shared/errors.ts'

/** Dotted name, as written there, → value: text, number, flag, null or a list. */
export type FlatSettings = ReadonlyMap<string, unknown>

const maxCharacters = 1_000_000
const maxSettings = 5_000

/** Errors: AppError 'config/invalid'. */
export function readSource(text: string): FlatSettings {
  if (text.length > maxCharacters) {
    throw new AppError('config/invalid', 'The file is too large to be the settings of a run.')
  }
  const words = hydraWords(text)
  const settings = words.length > 0 ? fromWords(words) : fromDocument(text)
  if (settings.size === 0) {
    throw new AppError(
      'config/invalid',
      'The file holds no settings.',
      'Expected YAML or JSON with named values, or a command with key=value words.',
    )
  }
  return settings
}

/** Words like `data.train_batch_size=128`, also behind a command that spans lines; empty where the text is a document. */
function hydraWords(text: string): string[] {
  const code = text
    .split(/\r?\n/)
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
  const words = code.match(/(?:[^\s'"\\]|\\.|'[^']*'|"[^"]*")+/g) ?? []
  const pairs = words.filter((word) => /^\+{0,2}[A-Za-z_][\w.]*=/.test(word))
  return /^\s*[\w.-]+\s*:/m.test(code) && pairs.length < 3
    ? []
    : pairs.filter((word) => word.includes('.') || pairs.length > 2)
}

function fromWords(words: readonly string[]): FlatSettings {
  const settings = new Map<string, unknown>()
  for (const word of words) {
    const at = word.indexOf('=')
    const name = word.slice(0, at).replace(/^\+{1,2}/, '')
    settings.set(name, scalar(word.slice(at + 1)))
  }
  return settings
}

/** A value as Hydra reads it; what stands in a variable of the shell stays as it is written. */
function scalar(written: string): unknown {
  const bare = /^(['"])(.*)\1$/s.exec(written)?.[2] ?? written
  if (bare.includes('$')) return bare
  return parsedValue(bare)
}

function parsedValue(text: string): unknown {
  const [document] = parseAllDocuments(text, { ...strict, schema: 'core' })
  if (document === undefined || !('contents' in document) || document.errors.length > 0) return text
  return pythonNumber(document.toJS({ maxAliasCount: 0 }))
}

const strict = { uniqueKeys: true, prettyErrors: true, version: '1.2' } as const

function fromDocument(text: string): FlatSettings {
  const documents = parseAllDocuments(text, strict)
  const [document, second] = Array.isArray(documents) ? documents : []
  const problem = document?.errors[0]?.message.split('\n')[0]?.replace(/:$/, '')
  if (document === undefined || problem !== undefined || second !== undefined) {
    const why = problem ?? (second === undefined ? 'it is empty' : 'it holds more than one document')
    throw new AppError('config/invalid', `The file cannot be read as YAML or JSON: ${why}.`)
  }
  const settings = new Map<string, unknown>()
  flatten('', plain(document), settings)
  return settings
}

/** A few anchors are ordinary; a document that unfolds into millions of values is not. */
function plain(document: { toJS(options: { maxAliasCount: number }): unknown }): unknown {
  try {
    return document.toJS({ maxAliasCount: 50 })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new AppError('config/invalid', `The file cannot be read as YAML or JSON: ${why}.`)
  }
}

function flatten(prefix: string, value: unknown, settings: Map<string, unknown>): void {
  if (settings.size > maxSettings) {
    throw new AppError('config/invalid', `The file has more than ${maxSettings} settings.`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    if (prefix !== '') settings.set(prefix, pythonNumber(value))
    return
  }
  for (const [name, inner] of Object.entries(value)) {
    flatten(prefix === '' ? name : `${prefix}.${name}`, inner, settings)
  }
}

/** 1e-6 and 1_000 are texts to some readers of YAML and numbers to Python. */
function pythonNumber(value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (/^(None|null|~)$/.test(value)) return null
  if (/^(True|False)$/.test(value)) return value === 'True'
  const isNumber = /^[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)
  return isNumber ? Number(value.replaceAll('_', '')) : value
}
