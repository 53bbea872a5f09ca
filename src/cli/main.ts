/** The command line: the host without a window. Each file of `commands/` has the commands about one thing. */
import { Command, CommanderError, Help, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { attempt } from '#shared/attempt.ts'
import { shownText } from '#shared/shownText.ts'
import { terminalMessage, terminalText } from '#shared/terminalText.ts'
import { AppError, usageError } from '#shared/errors.ts'
import { ownDataDirectory } from '#host/files/ownFiles.ts'
import { cudaEnvironment } from '#host/devices/installedCuda.ts'
import { keepPrivate } from '#host/files/permissions.ts'
import { repeated, type CommandContext } from './command.ts'
import { bench } from './commands/bench.ts'
import { chat } from './commands/chat.ts'
import { probe, selftest, telemetry } from './commands/checks.ts'
import { datasets } from './commands/datasets.ts'
import { devices } from './commands/devices.ts'
import { evaluate } from './commands/evaluate.ts'
import { evaluations } from './commands/evaluations.ts'
import { configs, exportRun } from './commands/exchange.ts'
import { generate, grad, score } from './commands/inference.ts'
import { losses } from './commands/losses.ts'
import { models } from './commands/models.ts'
import { keys } from './commands/keys.ts'
import { mcp } from './commands/mcp.ts'
import { python } from './commands/python.ts'
import { runs } from './commands/runs.ts'
import { workflows } from './commands/workflows.ts'
import { app, serve } from './commands/serve.ts'
import { population, seeds, studies, sweep } from './commands/studies.ts'
import { collect, demo, fork, resume, run, train } from './commands/train.ts'
import { jsonFields } from './jsonOutputs.ts'
import { createOutput, type Streams } from './output.ts'
import { ownVersion } from './version.ts'

const exitStatus = { done: 0, failed: 1, wrongUsage: 2 } as const

/** Runs one command line (without program names) and returns the exit status. */
export async function main(argv: readonly string[], streams: Streams = process): Promise<number> {
  keepPrivate()
  endQuietlyWhenTheReaderLeaves(streams.stdout)
  const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : [...argv]
  try {
    requireWholeNames(argv)
    await createProgram(streams, words).parseAsync(words, { from: 'user' })
    return exitStatus.done
  } catch (error) {
    // Commander has already printed the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitStatus.done : exitStatus.wrongUsage
    return report(error, streams)
  }
}

/** Refuses words whose bytes Node replaced, since they would name another file than the one that is meant. Errors: AppError 'usage/invalid'. */
function requireWholeNames(argv: readonly string[]): void {
  const names = [
    ...argv.map((word, i) => [`argument ${i + 1}`, word] as const),
    ['working folder', attempt(() => process.cwd(), '')] as const,
    ['variable TURNWISE_HOME', process.env['TURNWISE_HOME'] ?? ''] as const,
  ]
  const wrong = names.find(([, name]) => name.includes('\ufffd'))
  if (wrong === undefined) return
  throw usageError(
    `The ${wrong[0]} is not UTF-8, or has the sign U+FFFD, which stands for what is not: ${shownText(wrong[1])}`,
    'Nothing was done. Rename the file or folder so that nothing else can be meant.',
  )
}

/** Sorted as in the help. */
const commands = [
  ...[demo, train, collect, run, resume, fork, app, serve, mcp, runs, evaluate, evaluations],
  ...[sweep, population, seeds, studies],
  ...[exportRun, chat, generate, score, grad],
  ...[configs, losses, workflows, python, keys, models, datasets, devices, selftest, probe, bench, telemetry],
]

const outputWidth = 110

/** All commands, newly created for each command line because they hold its options. */
export function createProgram(streams: Streams, words: readonly string[]): CommandUnknownOpts {
  const program = new Command('turnwise')
    .description('Finetune language models with reinforcement learning on your own machine.')
    .usage('COMMAND [options]')
    .version(ownVersion(), '--version', 'print the version')
    .option('--data-dir <DIR>', 'where runs, models and caches are kept (or the variable TURNWISE_HOME)')
    .option('--json', 'JSON only on standard output')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nFor details: turnwise COMMAND --help. Exit status: 0 success, 1 failure, 2 wrong usage.',
    )
    .showHelpAfterError('  Add --help for usage.')
    .configureHelp({
      showGlobalOptions: true,
      visibleCommands: leavesOf,
      subcommandTerm: signature,
      subcommandDescription: summaryOf,
      optionDescription: (option) => new Help().optionDescription(option).replace(' (default: false)', ''),
    })
    .configureOutput({
      writeOut: (text) => void streams.stdout.write(text),
      writeErr: (text) => void streams.stderr.write(text),
      outputError: (text, write) =>
        write(
          wholeNames(text, program)
            .replace(/^error: /, 'turnwise: ')
            .replace('\n(', '\n  ('),
        ),
      getOutHelpWidth: () => streams.stdout.columns || outputWidth,
      getErrHelpWidth: () => streams.stderr.columns || outputWidth,
    })
    .exitOverride()
  const context = (): CommandContext => {
    const { dataDir, json = false } = program.opts()
    const dataDirectory = ownDataDirectory(dataDir)
    // Some commands compute in this process.
    Object.assign(process.env, cudaEnvironment(dataDirectory))
    return { dataDirectory, json, output: createOutput(streams, json) }
  }
  for (const make of commands) program.addCommand(make(context))
  for (const leaf of leavesOf(program))
    leaf.addHelpText('after', `\nWith --json: ${jsonFields(nameOf(leaf))}.`)
  beStrict(program, words)
  return program
}

/** Yields the executable commands below a command or group. */
export const leavesOf = (command: CommandUnknownOpts): CommandUnknownOpts[] =>
  command.commands.flatMap((child) => (child.commands.length === 0 ? [child] : leavesOf(child)))

/** Gives suggestions for an unknown first word their full names: `check` alone is no command. */
function wholeNames(text: string, program: CommandUnknownOpts): string {
  const [, unknown] = /unknown command '(.*)'/.exec(text) ?? []
  if (unknown === undefined || program.args[0] !== unknown) return text
  return text.replace(/Did you mean (?:one of )?(.*)\?/, (_, names: string) => {
    const similar = names.split(', ')
    const whole = leavesOf(program).flatMap((leaf) => (similar.includes(leaf.name()) ? nameOf(leaf) : []))
    return `Did you mean ${whole.length === 1 ? '' : 'one of '}${whole.join(', ')}?`
  })
}

/** Full name of a command, such as `runs show`. */
export const nameOf = (command: CommandUnknownOpts): string =>
  command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()

export const summaryOf = (command: CommandUnknownOpts): string =>
  command.description().split(/\.?(?:\n|$)/)[0] ?? ''

const signature = (command: CommandUnknownOpts): string =>
  [nameOf(command), ...command.registeredArguments.map((argument) => `<${argument.name()}>`)].join(' ')

/** Rejects what Commander accepts: an option given twice, and an option taken as the value of another. */
function beStrict(command: CommandUnknownOpts, words: readonly string[]): void {
  requireOptions(command)
  for (const option of command.options) {
    let isGiven = false
    command.on(`option:${option.name()}`, (value: string | null | undefined) => {
      if (isGiven && option.parseArg !== repeated)
        command.error(`error: option '${option.flags}' is given twice`)
      isGiven = true
      const isOption = value?.startsWith('--') === true && words.includes(value)
      if (option.required && (value === '' || isOption))
        command.error(`error: option '${option.flags}' argument missing`)
    })
  }
  for (const child of command.commands) beStrict(child.copyInheritedSettings(command), words)
}

/** Checks required options last: Commander would report a missing one before suggesting it for a mistyped one. */
function requireOptions(command: CommandUnknownOpts): void {
  const mandatory = command.options.filter((option) => option.mandatory)
  for (const option of mandatory) {
    option.mandatory = false
    option.description += ' (required)'
  }
  command.hook('preAction', (_, called) => {
    const missing = mandatory.find((option) => called.getOptionValue(option.attributeName()) === undefined)
    if (missing !== undefined) called.error(`error: required option '${missing.flags}' not specified`)
  })
}

/** Prints an error as one sentence and a hint; the stack only on request. */
function report(error: unknown, { stderr }: Streams): number {
  const isExpected = error instanceof AppError
  const message = error instanceof Error ? error.message : String(error)
  const hint = isExpected
    ? [error.hint, error.command].filter(Boolean).join(' ')
    : 'This is a fault in Turnwise. Set TURNWISE_DEBUG=1 to see where it happened.'
  // The text quotes file names and server messages, none of which may move the cursor.
  stderr.write(`turnwise: ${terminalMessage(message.replaceAll(/[^\n\t]+/g, shownText))}\n`)
  if (hint !== '') stderr.write(`  ${terminalText(hint)}\n`)
  if (process.env['TURNWISE_DEBUG'] === '1' && error instanceof Error)
    stderr.write(`${terminalMessage(stackOf(error))}\n`)
  return isExpected && error.code === 'usage/invalid' ? exitStatus.wrongUsage : exitStatus.failed
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message
  return error.cause instanceof Error ? `${own}\nCaused by: ${stackOf(error.cause)}` : own
}

/** Ends quietly when the pipe closes, as in `turnwise … | head`. */
function endQuietlyWhenTheReaderLeaves(stdout: NodeJS.WritableStream): void {
  stdout.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitStatus.done)
    throw error
  })
}
