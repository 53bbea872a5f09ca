/**
 * A program of the person's own interpreter that runs by itself, such as a trainer. What it writes goes to this process's
 * standard error, of which the end is kept. Its standard input is a pipe: what it starts may watch that for
 * our end.
 */
import { execFile, spawn } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { AppError } from '#shared/errors.ts'
import { type AllowedInterpreter, interpreterHint } from './consent.ts'
import { pythonEnvironment } from './pythonEnvironment.ts'

export interface ProgramOptions {
  readonly folder: string
  readonly environment: NodeJS.ProcessEnv
  /** Receives its output, in pieces of any length; returns the part of it to keep. */
  readonly hear?: (text: string) => string
  /** True: its output is not written to this process's standard error. */
  readonly isQuiet?: boolean
}

export interface ProgramEnd {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  /** The last characters of its output. */
  readonly tail: string
}

export interface Program {
  readonly ended: Promise<ProgramEnd>
  /** Writes to its standard input. */
  say(line: string): void
  /** Kills it at once, with everything it started. */
  kill(): void
}

/**
 * Characters of the output that are kept; many, since of several processes the one that knows why they end is not the
 * last to write.
 */
const keptCharacters = 50_000

/** Bytes that a program may leave unread before it is killed. */
const mostWaiting = 8 << 20

/** `shell`: a line for the system's shell that was allowed together with the interpreter. */
export function startProgram(
  interpreter: AllowedInterpreter,
  words:
    { readonly args: readonly string[] } | { readonly shell: (interpreter: AllowedInterpreter) => string },
  { folder, environment, hear: filter = (text) => text, isQuiet = false }: ProgramOptions,
): Program {
  const isPosix = process.platform !== 'win32'
  const [file, args] = 'args' in words ? [interpreter as string, words.args] : [words.shell(interpreter), []]
  const child = spawn(file, args, {
    cwd: folder,
    env: environment,
    shell: 'shell' in words,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: isPosix,
    windowsHide: true,
  })
  let tail = ''
  const hear = (text: string) => {
    tail = (tail + text).slice(-keptCharacters)
    if (!isQuiet) process.stderr.write(text)
  }
  child.stdin.on('error', () => {})
  child.stdout.setEncoding('utf8').on('data', (text: string) => hear(filter(text)))
  child.stderr.setEncoding('utf8').on('data', hear)
  const kill = () => {
    // Processes in groups of their own see the end of the pipe.
    child.stdin.end()
    const { pid } = child
    try {
      if (pid !== undefined && isPosix) process.kill(-pid, 'SIGKILL')
      else child.kill('SIGKILL')
    } catch {
      // It is gone already.
    }
  }
  const { promise: ended, resolve } = Promise.withResolvers<ProgramEnd>()
  child.once('error', (error) => resolve({ exitCode: null, signal: null, tail: error.message }))
  child.once('close', (exitCode, signal) => resolve({ exitCode, signal, tail: tail.trim() }))
  return {
    ended,
    say(line) {
      child.stdin.write(`${line}\n`)
      if (child.stdin.writableLength > mostWaiting) kill()
    },
    kill,
  }
}

/** Importing torch from a slow disk takes its time. */
const answerMs = 180_000

/**
 * The first line of code that is given with `-c`: takes the working folder off the path, from which Python would import in
 * place of its own modules. The process starts in another folder as well, for what is imported before.
 */
export const importsNothingHere = 'import sys; sys.path[:] = [each for each in sys.path if each]'

/** The last line that some code prints. Errors: AppError 'sandbox/failed' for an interpreter that does not run it. */
export async function askProgram(
  interpreter: AllowedInterpreter,
  code: string,
  words: readonly string[] = [],
): Promise<string> {
  try {
    const options = {
      timeout: answerMs,
      windowsHide: true,
      cwd: path.dirname(interpreter),
      env: pythonEnvironment(null),
    } as const
    const { stdout } = await promisify(execFile)(
      interpreter,
      ['-c', `${importsNothingHere}\n${code}`, ...words],
      options,
    )
    return stdout.trim().split('\n').at(-1) ?? ''
  } catch (error) {
    const words = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error)
    throw new AppError('sandbox/failed', `${interpreter} does not run: ${words}`, interpreterHint, error)
  }
}

/**
 * Returns the program behind an interpreter's name. The shims of version managers choose one by files in their working folder and
 * above it, which may have come from elsewhere: so they are asked in their own folder, and what they answer is started. Errors: as
 * `askProgram`.
 */
export const programOf = async (interpreter: AllowedInterpreter): Promise<AllowedInterpreter> =>
  (await askProgram(interpreter, 'print(sys.executable)')) as AllowedInterpreter
