/** Help texts, made from the table of commands. */
import { kebabCase, type Command } from './command.ts'
import { globalOptions } from './arguments.ts'
import type { Option } from './options.ts'

/** `turnwise --help`. */
export function overview(commands: readonly Command[]): string {
  const lines = commands.map((command): [string, string] => [signature(command), command.summary])
  return [
    'Turnwise: finetune language models with reinforcement learning on your own machine.',
    '',
    'Usage: turnwise COMMAND [options]',
    '',
    'Commands:',
    ...columns(lines),
    '',
    'Every command takes:',
    ...columns(Object.entries(globalOptions).map(optionRow)),
    '',
    'turnwise COMMAND --help tells more. turnwise --version prints the version.',
    'Exit status: 0 done, 1 failed, 2 wrong usage.',
  ].join('\n')
}

/** `turnwise COMMAND --help`. */
export function commandHelp(command: Command): string {
  const required = Object.entries(command.options).filter(([, option]) => option.required)
  const isOptional = Object.keys(command.options).length > required.length
  const written = required.map(([name, option]) => `--${kebabCase(name)} ${option.placeholder}`)
  const parts = [signature(command), ...written, ...(isOptional ? ['[options]'] : [])]
  const notes = command.notes()
  return [
    `Usage: turnwise ${parts.join(' ')}`,
    '',
    `${command.summary}.`,
    ...section(
      'Arguments:',
      command.positionals.map(({ name, description }) => [name, description]),
    ),
    ...section('Options:', Object.entries(command.options).map(optionRow)),
    ...section('Every command takes:', Object.entries(globalOptions).map(optionRow)),
    ...(notes.length === 0 ? [] : ['', ...notes]),
  ].join('\n')
}

const signature = (command: Command): string =>
  [command.name, ...command.positionals.map(({ name }) => name)].join(' ')

function optionRow([name, option]: [string, Option<unknown>]): [string, string] {
  const written = `--${kebabCase(name)}${option.placeholder === '' ? '' : ` ${option.placeholder}`}`
  const remark = option.required
    ? ' (required)'
    : option.fallback === undefined
      ? ''
      : ` (default ${option.fallback})`
  return [written, `${option.description}${remark}`]
}

const section = (title: string, rows: [string, string][]): string[] =>
  rows.length === 0 ? [] : ['', title, ...columns(rows)]

/** Left column as wide as its longest short entry; longer ones take a line of their own. */
function columns(rows: readonly [string, string][]): string[] {
  const widest = 30
  const width = Math.max(...rows.map(([left]) => left.length).filter((length) => length <= widest), 8)
  return rows.flatMap(([left, right]) =>
    left.length > widest
      ? [`  ${left}`, `  ${' '.repeat(width)}  ${right}`]
      : [`  ${left.padEnd(width)}  ${right}`],
  )
}
