/** Starts the programs that show the window, the desktop shell or the browser, and those that a person names. */
import { spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import path from 'node:path'

export interface Program {
  readonly file: string
  readonly args: readonly string[]
  /** Variables on top of this process's environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Working folder; by default this process's. */
  readonly cwd?: string
  /** True: what it prints goes to standard error, and nothing can be typed into it. */
  readonly isBeside?: boolean
  /** Aborted: it is asked to end. */
  readonly signal?: AbortSignal
}

export interface ProgramExit {
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
}

/**
 * Returns the place of a program in the folders of PATH; null: it has none there. The system would also look in the working
 * folder, on Windows always and elsewhere where PATH has an empty part: what lies there may have come from elsewhere.
 */
export function programFile(name: string): string | null {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((each) => path.isAbsolute(each))
  const places = folders.map((folder) => path.join(folder, executableName(name)))
  return places.find((place) => existsSync(place) && statSync(place).isFile()) ?? null
}

export const executableName = (name: string): string =>
  process.platform === 'win32' && !/\.(?:exe|com)$/i.test(name) ? `${name}.exe` : name

/** Signals that are passed on to a program that is waited for. */
const passedOn = ['SIGTERM', 'SIGHUP'] as const

/**
 * Runs it in this terminal to its end. A Ctrl-C reaches the program itself and is its business. null: it could not be
 * started.
 */
export async function runProgram({
  file,
  args,
  env,
  cwd,
  isBeside = false,
  signal: ends,
}: Program): Promise<ProgramExit | null> {
  const program = path.isAbsolute(file) ? file : programFile(file)
  if (program === null) return null
  const stdio: StdioOptions = isBeside ? ['ignore', 2, 'inherit'] : 'inherit'
  const child = spawn(program, args, { stdio, env: { ...process.env, ...env }, cwd, signal: ends })
  const leaveIt = () => undefined
  const pass = (signal: NodeJS.Signals) => void child.kill(signal)
  process.on('SIGINT', leaveIt)
  for (const signal of passedOn) process.on(signal, pass)
  try {
    await once(child, 'exit')
    return { exitCode: child.exitCode, signal: child.signalCode }
  } catch {
    return null
  } finally {
    process.off('SIGINT', leaveIt)
    for (const signal of passedOn) process.off(signal, pass)
  }
}

/** Starts it and leaves it alone; returns true if it could be started. */
export async function launchProgram({ file, args, env }: Program): Promise<boolean> {
  const program = path.isAbsolute(file) ? file : programFile(file)
  if (program === null) return false
  const child = spawn(program, args, { stdio: 'ignore', detached: true, env: { ...process.env, ...env } })
  child.unref()
  try {
    await once(child, 'spawn')
    return true
  } catch {
    return false
  }
}
