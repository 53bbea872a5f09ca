/** A command: its words, its options and what it does. The list is `commands/registry.ts`. */
import { usageError, type OptionTable, type OptionValues } from './options.ts'
import type { Output } from './output.ts'

/** What every command receives besides its own options. */
export interface CommandContext {
  /** Where runs, models and caches live. */
  readonly dataDirectory: string
  readonly json: boolean
  readonly output: Output
}

export interface Positional {
  /** As in the help: `CONFIG.json`. */
  readonly name: string
  readonly description: string
}

interface CommandDefinition<Table extends OptionTable> {
  /** One word, or two (`model random`). */
  readonly name: string
  readonly summary: string
  /** All of them must be given. */
  readonly positionals: readonly Positional[]
  /** Names in camel case: `maxTokens` is written `--max-tokens`. */
  readonly options: Table
  /** Lines below the options in the help. */
  readonly notes?: () => readonly string[]
  run(
    given: { readonly options: OptionValues<Table>; readonly positionals: readonly string[] },
    context: CommandContext,
  ): Promise<void> | void
}

/** What was written after the command's name. */
export interface GivenArguments {
  /** Option name in kebab case → its texts ('' for a flag). */
  readonly options: ReadonlyMap<string, readonly string[]>
  readonly positionals: readonly string[]
}

export interface Command {
  readonly name: string
  readonly summary: string
  readonly positionals: readonly Positional[]
  readonly options: OptionTable
  readonly notes: () => readonly string[]
  invoke(given: GivenArguments, context: CommandContext): Promise<void> | void
}

export const kebabCase = (name: string): string =>
  name.replaceAll(/[A-Z0-9]+/g, (part) => (/^\d/.test(part) ? part : `-${part.toLowerCase()}`))

/** Ties a command's options to the values its `run` receives. */
export function defineCommand<Table extends OptionTable>(definition: CommandDefinition<Table>): Command {
  return {
    ...definition,
    notes: definition.notes ?? (() => []),
    async invoke(given, context) {
      checkPositionals(definition.name, definition.positionals, given.positionals)
      const values = Object.entries(definition.options).map(([name, option]) => {
        const written = kebabCase(name)
        const texts = given.options.get(written) ?? []
        return [name, option.read(written, texts[0], texts)] as const
      })
      const options = Object.fromEntries(values) as OptionValues<Table>
      await definition.run({ options, positionals: given.positionals }, context)
    },
  }
}

function checkPositionals(command: string, wanted: readonly Positional[], given: readonly string[]): void {
  const missing = wanted[given.length]
  if (missing !== undefined) {
    throw usageError(
      `Command ${command} needs ${missing.name}: ${lowerFirst(missing.description)}.`,
      `See turnwise ${command} --help.`,
    )
  }
  const surplus = given[wanted.length]
  if (surplus !== undefined) {
    throw usageError(`Command ${command} does not take “${surplus}”.`, `See turnwise ${command} --help.`)
  }
}

const lowerFirst = (sentence: string): string => sentence.charAt(0).toLowerCase() + sentence.slice(1)
