/** From words on the command line to a command and its arguments. */
import { parseArgs } from 'node:util'
import { kebabCase, type Command, type GivenArguments } from './command.ts'
import { flag, text, usageError, type OptionTable } from './options.ts'
import { suggest } from './suggest.ts'

/** Options every command takes. */
export const globalOptions = {
  dataDir: text('DIR', 'where runs, models and caches are kept (or the variable TURNWISE_HOME)'),
  json: flag('JSON only on standard output'),
  help: flag('show this help'),
} satisfies OptionTable

/** The command the first words name, and the words behind its name. */
export function findCommand(
  words: readonly string[],
  commands: readonly Command[],
): { command: Command; rest: readonly string[] } {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ')
    const command = words.length >= length ? commands.find((candidate) => candidate.name === name) : undefined
    if (command !== undefined) return { command, rest: words.slice(length) }
  }
  throw unknownCommand(words, commands)
}

function unknownCommand(words: readonly string[], commands: readonly Command[]): Error {
  const [first = '', second] = words
  const names = commands.map(({ name }) => name)
  const family = names.filter((name) => name.startsWith(`${first} `))
  if (family.length > 0) {
    const given = second === undefined || second.startsWith('-') ? undefined : second
    const near = given === undefined ? undefined : suggest(`${first} ${given}`, family)
    return usageError(
      given === undefined
        ? `Command ${first} needs a second word.`
        : `There is no command “${first} ${given}”.`,
      near === undefined ? `Choose one of: ${family.join(', ')}.` : `Did you mean ${near}?`,
    )
  }
  const near = suggest(first, names) ?? suggest([first, second].join(' '), names)
  return usageError(
    `There is no command “${first}”.`,
    near === undefined ? 'turnwise --help lists the commands.' : `Did you mean ${near}?`,
  )
}

/** Splits the words behind a command's name; unknown options, missing and surplus values are usage errors. */
export function parseArguments(command: Command, words: readonly string[]): GivenArguments {
  const table: OptionTable = { ...globalOptions, ...command.options }
  const byName = new Map(Object.entries(table).map(([name, option]) => [kebabCase(name), option]))
  const options = Object.fromEntries(
    [...byName].map(([name, option]) => [
      name,
      { type: option.placeholder === '' ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  const { tokens } = parseArgs({
    args: [...words],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const given = new Map<string, string[]>()
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const option = byName.get(token.name)
    if (option === undefined) throw unknownOption(command, token.rawName, [...byName.keys()])
    const before = given.get(token.name) ?? []
    if (before.length > 0 && option.repeats !== true) {
      throw usageError(`Option --${token.name} is given twice.`)
    }
    given.set(token.name, [...before, optionText(token, option.placeholder)])
  }
  return { options: given, positionals }
}

interface OptionToken {
  readonly name: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

function optionText({ name, value, inlineValue }: OptionToken, placeholder: string): string {
  if (placeholder === '') {
    if (value !== undefined) throw usageError(`Option --${name} takes no value.`)
    return ''
  }
  const isNextOption = inlineValue !== true && value?.startsWith('--') === true
  if (value === undefined || value === '' || isNextOption) {
    throw usageError(`Option --${name} needs a value.`, `Write --${name} ${placeholder}.`)
  }
  return value
}

function unknownOption(command: Command, written: string, names: readonly string[]): Error {
  const near = suggest(written.replace(/^-+/, ''), names)
  return usageError(
    `Command ${command.name} has no option ${written}.`,
    near === undefined ? `See turnwise ${command.name} --help.` : `Did you mean --${near}?`,
  )
}
