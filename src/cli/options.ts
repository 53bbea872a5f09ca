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
  /** `text` is undefined where the option was not given; a flag that was given reads ''. */
  read(name: string, text: string | undefined): T
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

/** An option that may be left out. */
export function text(placeholder: string, description: string): Option<string | undefined> {
  return { placeholder, description, required: false, read: (_name, given) => given }
}

/** An option that must be given. */
export function requiredText(placeholder: string, description: string): Option<string> {
  return {
    placeholder,
    description,
    required: true,
    read(name, given) {
      if (given === undefined) throw usageError(`Option --${name} is missing.`, `Write --${name} ${placeholder}.`)
      return given
    },
  }
}

interface NumberLimits {
  readonly minimum?: number
  readonly maximum?: number
  readonly integer?: boolean
}

/** A number, or undefined where it was not given. */
export function number(
  placeholder: string,
  description: string,
  limits: NumberLimits = {},
): Option<number | undefined> {
  return {
    placeholder,
    description,
    required: false,
    read: (name, given) => (given === undefined ? undefined : readNumber(name, given, limits)),
  }
}

export function integer(
  placeholder: string,
  description: string,
  limits: Omit<NumberLimits, 'integer'> = {},
): Option<number | undefined> {
  return number(placeholder, description, { ...limits, integer: true })
}

/** One of a few words. */
export function choice<const Word extends string>(
  words: readonly Word[],
  description: string,
): Option<Word | undefined> {
  return {
    placeholder: words.join('|'),
    description,
    required: false,
    read: (name, given) => (given === undefined ? undefined : readWord(name, given, words)),
  }
}

/** Comma-separated positive integers. */
export function integers(description: string): Option<readonly number[] | undefined> {
  return {
    placeholder: 'N,N…',
    description,
    required: false,
    read: (name, given) => given?.split(',').map((part) => readNumber(name, part, { integer: true, minimum: 1 })),
  }
}

/** Comma-separated words out of a few. */
export function choices<const Word extends string>(
  words: readonly Word[],
  description: string,
): Option<readonly Word[] | undefined> {
  return {
    placeholder: words.join(','),
    description,
    required: false,
    read: (name, given) => given?.split(',').map((part) => readWord(name, part, words)),
  }
}

function readNumber(name: string, given: string, limits: NumberLimits): number {
  const value = given.trim() === '' ? Number.NaN : Number(given)
  const kind = limits.integer === true ? 'a whole number' : 'a number'
  if (!Number.isFinite(value) || (limits.integer === true && !Number.isSafeInteger(value))) {
    throw usageError(`Option --${name} takes ${kind}, not «${given}».`)
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
  if (word === undefined) throw usageError(`Option --${name} takes ${words.join(' or ')}, not «${given}».`)
  return word
}
