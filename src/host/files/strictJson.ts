/**
 * Parses JSON as RFC 8259 has it, and stricter where leniency hides an attack or a mistake: duplicate keys and deep
 * nesting are errors, and objects have no prototype, so a key called `__proto__` is a key like any other.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { printParseErrorCode, visit, type ParseErrorCode } from 'jsonc-parser'
import { AppError, type ErrorCode } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { readError, reading } from './fileErrors.ts'

export type JsonObject = { readonly [key: string]: unknown }

const maxDepth = 64

/** Error of the parser, caught by the readers, who know the file's name. */
export class JsonSyntaxError extends Error {}

interface Opened {
  readonly value: Record<string, unknown> | unknown[]
  /** The key whose value comes next. */
  key: string
}

function parse(text: string): unknown {
  const opened: Opened[] = []
  let root: unknown
  const add = (value: unknown): void => {
    if (opened.length > maxDepth) throw new JsonSyntaxError(`it is nested deeper than ${maxDepth} levels`)
    const parent = opened.at(-1)
    if (parent === undefined) root = value
    else if (Array.isArray(parent.value)) parent.value.push(value)
    else parent.value[parent.key] = value
  }
  const open = (value: Opened['value']): void => {
    add(value)
    opened.push({ value, key: '' })
  }
  const close = () => void opened.pop()
  const name = (key: string): void => {
    const object = opened.at(-1)
    if (object === undefined) throw new Error('Expected an object around a key.')
    if (key in object.value) throw new JsonSyntaxError(`the key “${shorten(key)}” appears twice`)
    object.key = key
  }
  visit(
    text,
    {
      onObjectBegin: () => open(Object.create(null) as Record<string, unknown>),
      onObjectProperty: name,
      onObjectEnd: close,
      onArrayBegin: () => open([]),
      onArrayEnd: close,
      onLiteralValue: add,
      onError(code, offset) {
        throw new JsonSyntaxError(faultAt(text, code, offset))
      },
    },
    { disallowComments: true },
  )
  return root
}

function faultAt(text: string, code: ParseErrorCode, offset: number): string {
  const found = text[offset]
  const kind = printParseErrorCode(code)
  if (found === undefined || kind === 'UnexpectedEndOfString') return 'it ends prematurely'
  if (kind === 'InvalidEscapeCharacter' || kind === 'InvalidUnicode')
    return `the text that begins at character ${offset + 1} has an invalid escape`
  return `character ${offset + 1} (${JSON.stringify(found)}) is not valid JSON there`
}

/** UTF-8 bytes → value. Objects have a null prototype. Errors: JsonSyntaxError with a reason, without a file name. */
export function parseStrictJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new JsonSyntaxError('it is not valid UTF-8')
  }
  return parse(text.startsWith('\uFEFF') ? text.slice(1) : text)
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The length of a regular file; links are followed. Errors: AppError 'file/unreadable'. */
export function regularFileSize(path: string): number {
  const stats = reading(path, () => statSync(path))
  // Opening a pipe or a device could wait for ever or never end.
  if (!stats.isFile()) throw new AppError('file/unreadable', `${path} could not be read: it is not a file.`)
  return stats.size
}

/** The largest file of code or settings that people write. */
const maxTextBytes = 16 * 1024 * 1024

/** Reads a whole file of at most `maxBytes`. Errors: AppError 'file/unreadable', also for what is no ordinary file. */
export function readSmallFile(path: string, maxBytes = maxTextBytes): Uint8Array {
  if (regularFileSize(path) > maxBytes) {
    throw new AppError(
      'file/unreadable',
      `${path} is larger than the ${maxBytes} bytes such a file may have.`,
    )
  }
  try {
    const handle = openSync(path, 'r')
    try {
      const bytes = new Uint8Array(Math.min(fstatSync(handle).size, maxBytes))
      let length = 0
      for (let read = -1; read !== 0 && length < bytes.length; length += read) {
        read = readSync(handle, bytes, length, bytes.length - length, length)
      }
      return bytes.subarray(0, length)
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    throw readError(path, error)
  }
}

/** Reads code, a template or settings as people write them. Errors: as `readSmallFile`. */
export const readSmallText = (path: string, maxBytes = maxTextBytes): string =>
  Buffer.from(readSmallFile(path, maxBytes)).toString('utf8')

/** A JSON file whose document is an object. Errors: AppError 'file/unreadable', or `code` for wrong content. */
export const readJsonObject = (path: string, code: ErrorCode, maxBytes = 4 * 1024 * 1024): JsonObject =>
  jsonObjectOf(readSmallFile(path, maxBytes), path, code)

/** Parses the bytes of a file. Errors: AppError `code`, which names the file. */
export function jsonObjectOf(bytes: Uint8Array, path: string, code: ErrorCode): JsonObject {
  let value: unknown
  try {
    value = parseStrictJson(bytes)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new AppError(code, `${path} is not a valid JSON file: ${error.message}.`)
  }
  if (!isJsonObject(value)) throw new AppError(code, `${path} must hold a JSON object.`)
  return value
}
