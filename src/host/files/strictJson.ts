/**
 * JSON as RFC 8259 has it, and stricter where leniency hides an attack or a mistake: duplicate keys and deep nesting
 * are errors, and objects have no prototype, so a key called `__proto__` is a key like any other.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { AppError, type ErrorCode } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { readError } from './fileErrors.ts'

export type JsonObject = { readonly [key: string]: unknown }

const maxDepth = 64

/** Thrown by the parser, caught by the readers, who know the file's name. */
export class JsonSyntaxError extends Error {}

const numberPattern = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/
const numberCharacters = '+-.0123456789eE'
const maxNumberLength = 400
const backslash = 0x5c
const quote = 0x22
const space = 0x20
const literals: ReadonlyMap<string, unknown> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
])

class Parser {
  #position = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  document(): unknown {
    const value = this.#value(0)
    this.#space()
    if (this.#position < this.#text.length) throw this.#unexpected()
    return value
  }

  #value(depth: number): unknown {
    if (depth > maxDepth) throw new JsonSyntaxError(`it is nested deeper than ${maxDepth} levels`)
    this.#space()
    const first = this.#text[this.#position]
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#array(depth)
    if (first === '"') return this.#string()
    for (const [word, value] of literals) {
      if (this.#text.startsWith(word, this.#position)) {
        this.#position += word.length
        return value
      }
    }
    return this.#number()
  }

  #object(depth: number): JsonObject {
    const result = Object.create(null) as Record<string, unknown>
    this.#list('}', () => {
      this.#space()
      const key = this.#string()
      if (key in result) throw new JsonSyntaxError(`the key “${shorten(key)}” appears twice`)
      this.#space()
      this.#expect(':')
      result[key] = this.#value(depth + 1)
    })
    return result
  }

  #array(depth: number): unknown[] {
    const result: unknown[] = []
    this.#list(']', () => result.push(this.#value(depth + 1)))
    return result
  }

  /** The entries between an opening bracket and `end`, separated by commas. */
  #list(end: string, readEntry: () => void): void {
    this.#position++
    this.#space()
    if (this.#text[this.#position] !== end) {
      readEntry()
      this.#space()
      while (this.#text[this.#position] === ',') {
        this.#position++
        readEntry()
        this.#space()
      }
    }
    this.#expect(end)
  }

  // Characters are walked one by one: on megabytes of input a regular expression runs out of its stack.
  #string(): string {
    const start = this.#position
    this.#expect('"')
    let escaped = false
    for (let code = this.#code(); code !== quote; code = this.#code()) {
      if (!(code >= space)) throw this.#unexpected()
      if (code === backslash) escaped = true
      this.#position += code === backslash ? 2 : 1
    }
    this.#position++
    if (!escaped) return this.#text.slice(start + 1, this.#position - 1)
    try {
      return JSON.parse(this.#text.slice(start, this.#position)) as string
    } catch {
      throw new JsonSyntaxError(`the text that begins at character ${start + 1} has a wrong escape`)
    }
  }

  #number(): number {
    const start = this.#position
    let end = start
    while (numberCharacters.includes(this.#text[end] ?? ' ') && end - start < maxNumberLength) end++
    const digits = this.#text.slice(start, end)
    if (!numberPattern.test(digits)) throw this.#unexpected()
    this.#position = end
    return Number(digits)
  }

  #space(): void {
    while (' \t\n\r'.includes(this.#text[this.#position] ?? 'x')) this.#position++
  }

  /** NaN at the end of the text. */
  #code(): number {
    return this.#text.charCodeAt(this.#position)
  }

  #expect(character: string): void {
    if (this.#text[this.#position] !== character) throw this.#unexpected()
    this.#position++
  }

  #unexpected(): JsonSyntaxError {
    const found = this.#text[this.#position]
    return new JsonSyntaxError(
      found === undefined
        ? 'it ends in the middle'
        : `character ${this.#position + 1} (${JSON.stringify(found)}) is not valid JSON there`,
    )
  }
}

/** UTF-8 bytes → value. Objects have a null prototype. Errors: JsonSyntaxError with a reason, without a file name. */
export function parseStrictJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new JsonSyntaxError('it is not valid UTF-8')
  }
  return new Parser(text.startsWith('\uFEFF') ? text.slice(1) : text).document()
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The length of a regular file; links are followed. Errors: AppError 'file/unreadable'. */
export function regularFileSize(path: string): number {
  let stats
  try {
    stats = statSync(path)
  } catch (error) {
    throw readError(path, error)
  }
  // Opening a pipe or a device could wait for ever or never end.
  if (!stats.isFile()) throw new AppError('file/unreadable', `${path} could not be read: it is not a file.`)
  return stats.size
}

/** Reads a whole file of at most `maxBytes`. Errors: AppError 'file/unreadable'. */
export function readSmallFile(path: string, maxBytes: number): Uint8Array {
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

/** A JSON file whose document is an object. Errors: AppError 'file/unreadable', or `code` for wrong content. */
export function readJsonObject(path: string, code: ErrorCode, maxBytes = 4 * 1024 * 1024): JsonObject {
  let value: unknown
  try {
    value = parseStrictJson(readSmallFile(path, maxBytes))
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new AppError(code, `${path} is not a valid JSON file: ${error.message}.`)
  }
  if (!isJsonObject(value)) throw new AppError(code, `${path} must hold a JSON object.`)
  return value
}
