/** Shared by all commands: their context, and parsers for option values. */
import { Command, InvalidArgumentError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import type { Output } from './output.ts'

export interface CommandContext {
  /** Folder of runs, models and caches. */
  readonly dataDirectory: string
  readonly json: boolean
  readonly output: Output
}

/** Returns the context inside a command's action, once the global options have been parsed. */
export type Context = () => CommandContext

/** Command that only holds others. */
export function group(
  context: Context,
  name: string,
  description: string,
  members: readonly ((context: Context) => CommandUnknownOpts)[],
): Command {
  const command = new Command(name).description(description)
  for (const member of members) command.addCommand(member(context))
  return command
}

/** Option of commands that write a file. */
export const force = ['--force', 'replace the file if it exists'] as const

export const trustPython = [
  '--trust-python [INTERPRETER]',
  'allow the Python code as it is now, on this machine; it is not sandboxed (default interpreter: python3)',
] as const

/** Option of commands whose config names the Python interpreter. */
export const trustConfig = [
  '--trust-python',
  'allow the Python code of the config as it is now, on this machine; it is not sandboxed',
] as const

/** Option of commands that go on with a run. */
export const trustScript = [
  '--trust-script',
  'allow the training script of the run as it is now, on this machine; it is not sandboxed',
] as const

/** Option of commands whose config names keys. */
export const trustKeys = [
  '--trust-keys',
  'allow the keys that the config names to be sent to the addresses that it names, on this machine',
] as const

/** Option of commands that compute. */
export const threads = ['--threads <N>', 'CPU threads (default: one per physical core)'] as const
export const maxThreads = 1024

/** Parses a number within limits, inclusive. */
export const real =
  (minimum: number, maximum = Infinity) =>
  (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text)
    if (!Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.')
    if (value < minimum) throw new InvalidArgumentError(`It must be at least ${minimum}.`)
    if (value > maximum) throw new InvalidArgumentError(`It must be at most ${maximum}.`)
    return value
  }

/** Parses a whole number within limits, inclusive. */
export const whole =
  (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = real(minimum, maximum)(text)
    if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a whole number.')
    return value
  }

export const listOf =
  <T>(read: (text: string) => T) =>
  (text: string): readonly T[] =>
    text.split(',').map((part) => read(part.trim()))

export const oneOf =
  <const Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const word = words.find((candidate) => candidate === text)
    if (word === undefined) throw new InvalidArgumentError(`Choose from ${words.join(', ')}.`)
    return word
  }

/** Collects the values of a repeatable option; other options may be given once. */
export const repeated = (text: string, before: readonly string[]): readonly string[] => [...before, text]

/** Option values of the command that a function creates. */
export type OptionsOf<Make extends (context: Context) => { opts(): unknown }> = ReturnType<
  ReturnType<Make>['opts']
>
