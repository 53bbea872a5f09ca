/**
 * The command line: the host without a window. Read `commands/registry.ts` for what there is, `command.ts` and
 * `options.ts` for how a command is described, then any file of `commands/`.
 */
import { readFileSync } from 'node:fs'
import { AppError } from '#shared/errors.ts'
import { keepPrivate } from '#host/files/permissions.ts'
import { cudaEnvironment } from '#host/devices/installedCuda.ts'
import { resolveDataDirectory } from '#host/dataDirectory.ts'
import { findCommand, parseArguments } from './arguments.ts'
import { commands } from './commands/registry.ts'
import { commandHelp, overview } from './help.ts'
import { createOutput, type Streams } from './output.ts'
import { usageError } from './options.ts'

const exitStatus = { done: 0, failed: 1, wrongUsage: 2 } as const

/** Runs one command line (without program names) and answers the exit status. */
export async function main(argv: readonly string[], streams: Streams = process): Promise<number> {
  keepPrivate()
  endQuietlyWhenTheReaderLeaves(streams.stdout)
  try {
    return await dispatch(argv, streams)
  } catch (error) {
    return report(error, streams)
  }
}

async function dispatch(argv: readonly string[], streams: Streams): Promise<number> {
  const [first] = argv
  if (first === '--version') return answer(streams, version())
  if (first === undefined) throw usageError('No command was given.', 'turnwise --help lists the commands.')
  if (first === '--help' || first === '-h' || first === 'help') {
    const words = argv.slice(1)
    return answer(
      streams,
      words.length === 0 ? overview(commands) : commandHelp(findCommand(words, commands).command),
    )
  }
  const { command, rest } = findCommand(argv, commands)
  if (rest.includes('--help') || rest.includes('-h')) return answer(streams, commandHelp(command))
  const given = parseArguments(command, rest)
  const json = given.options.has('json')
  const dataDirectory = resolveDataDirectory(given.options.get('data-dir')?.[0])
  // Some commands compute in this very process.
  Object.assign(process.env, cudaEnvironment(dataDirectory))
  await command.invoke(given, {
    dataDirectory,
    json,
    output: createOutput(streams, json),
  })
  return exitStatus.done
}

function answer(streams: Streams, text: string): number {
  streams.stdout.write(`${text}\n`)
  return exitStatus.done
}

/** A person sees one sentence and a hint; the stack only on request. */
function report(error: unknown, { stderr }: Streams): number {
  const isExpected = error instanceof AppError
  const message = error instanceof Error ? error.message : String(error)
  const hint = isExpected
    ? [error.hint, error.command].filter(Boolean).join(' ')
    : 'This is a fault in Turnwise. Set TURNWISE_DEBUG=1 to see where it happened.'
  stderr.write(`turnwise: ${message}\n`)
  if (hint !== '') stderr.write(`  ${hint}\n`)
  if (process.env['TURNWISE_DEBUG'] === '1' && error instanceof Error) stderr.write(`${stackOf(error)}\n`)
  return isExpected && error.code === 'usage/invalid' ? exitStatus.wrongUsage : exitStatus.failed
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message
  return error.cause instanceof Error ? `${own}\nCaused by: ${stackOf(error.cause)}` : own
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest)
    return String(manifest.version)
  throw new Error('package.json has no version.')
}

/** `turnwise … | head` must not end in a fault when the pipe closes. */
function endQuietlyWhenTheReaderLeaves(stdout: NodeJS.WritableStream): void {
  stdout.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitStatus.done)
    throw error
  })
}
