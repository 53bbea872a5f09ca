/**
 * Options of a command: each says how it is written, what it means and how its text becomes a value. A command's
 * table of options is both its parser and its help.
 */
import { AppError } from '#shared/errors.ts'

export interface Option<T> {
  /** What stands behind the name in the help (`N`, `DIR`); empty for a flag, which takes no value. */
  readonly placeholder: string
  readonly description: string
  readonly required: boolean
  /** As the help shows it; absent where there is none. */
  readonly fallback?: string
  /** May be given several times; the others at most once. */
  readonly repeats?: true
  /** `text` is the first value given: undefined where there is none, '' of a flag. `texts` are all of them. */
  readonly read: (name: string, text: string | undefined, texts: readonly string[]) => T
}

export type OptionTable = Readonly<Record<string, Option<unknown>>>

/** The values a command receives for its table of options. */
export type OptionValues<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer Value> ? Value : never
}

export const usageError = (message: string, hint?: string): AppError =>
  new AppError('usage/invalid', message, hint)

export function flag(description: string): Option<boolean> {
  return { placeholder: '', description, required: false, read: (_name, text) => text !== undefined }
}

/** Of commands that write a file. */
export const force = flag('replace a file that is there already')

/** An option that may be left out. */
export function text(placeholder: string, description: string): Option<string | undefined> {
  return { placeholder, description, required: false, read: (_name, given) => given }
}

/** An option that may be given any number of times. */
export function repeatedText(placeholder: string, description: string): Option<readonly string[]> {
  return { placeholder, description, required: false, repeats: true, read: (_name, _first, texts) => texts }
}

/** An option that must be given. */
export function requiredText(placeholder: string, description: string): Option<string> {
  return {
    placeholder,
    description,
    required: true,
    read(name, given) {
      if (given === undefined)
        throw usageError(`Option --${name} is missing.`, `Write --${name} ${placeholder}.`)
      return given
    },
  }
}

interface NumberLimits {
  readonly minimum?: number
  readonly maximum?: number
  readonly integer?: boolean
}

interface NumberOption<Default> extends NumberLimits {
  /** Its value where it is not given; without it that is undefined. */
  readonly default?: Default
}

export function number<Default extends number | undefined = undefined>(
  placeholder: string,
  description: string,
  limits: NumberOption<Default> = {},
): Option<number | Default> {
  return withFallback(
    { placeholder, description, parse: (name, given) => readNumber(name, given, limits) },
    limits.default as Default,
  )
}

export function integer<Default extends number | undefined = undefined>(
  placeholder: string,
  description: string,
  limits: Omit<NumberOption<Default>, 'integer'> = {},
): Option<number | Default> {
  return number(placeholder, description, { ...limits, integer: true })
}

/** One of a few words. */
export function choice<const Word extends string, const Default extends Word | undefined = undefined>(
  words: readonly Word[],
  description: string,
  fallback?: Default,
): Option<Word | Default> {
  return withFallback(
    { placeholder: words.join('|'), description, parse: (name, given) => readWord(name, given, words) },
    fallback as Default,
  )
}

/** Comma-separated positive integers. */
export function integers(description: string, fallback: readonly number[]): Option<readonly number[]> {
  const parse = (name: string, given: string) =>
    given.split(',').map((part) => readNumber(name, part, { integer: true, minimum: 1 }))
  return withFallback({ placeholder: 'N,N…', description, parse }, fallback)
}

/** Comma-separated words out of a few; all of them where it is not given. */
export function choices<const Word extends string>(
  words: readonly Word[],
  description: string,
): Option<readonly Word[]> {
  const parse = (name: string, given: string) => given.split(',').map((part) => readWord(name, part, words))
  return withFallback({ placeholder: words.join(','), description, parse }, words)
}

interface Parsed<T> {
  readonly placeholder: string
  readonly description: string
  readonly parse: (name: string, given: string) => T
}

/** An option with a value of its own where it is not given. */
function withFallback<T, Default>({ parse, ...words }: Parsed<T>, fallback: Default): Option<T | Default> {
  return {
    ...words,
    required: false,
    ...(fallback === undefined ? {} : { fallback: String(fallback) }),
    read: (name, given) => (given === undefined ? fallback : parse(name, given)),
  }
}

function readNumber(name: string, given: string, limits: NumberLimits): number {
  const value = given.trim() === '' ? Number.NaN : Number(given)
  const kind = limits.integer === true ? 'a whole number' : 'a number'
  if (!Number.isFinite(value) || (limits.integer === true && !Number.isSafeInteger(value))) {
    throw usageError(`Option --${name} takes ${kind}, not “${given}”.`)
  }
  if (limits.minimum !== undefined && value < limits.minimum) {
    throw usageError(`Option --${name} must be at least ${limits.minimum}, not ${given}.`)
  }
  if (limits.maximum !== undefined && value > limits.maximum) {
    throw usageError(`Option --${name} must be at most ${limits.maximum}, not ${given}.`)
  }
  return value
}

function readWord<Word extends string>(name: string, given: string, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === given.trim())
  if (word === undefined) throw usageError(`Option --${name} takes ${words.join(' or ')}, not “${given}”.`)
  return word
}
