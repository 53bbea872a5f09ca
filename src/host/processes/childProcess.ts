/** Starts processes of ours as child processes of Node. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync } from 'node:fs'
import path from 'node:path'
import { runtimeEnvironment } from '#shared/runtimeEnvironment.ts'
import { openOwnFile } from '#host/files/ownFiles.ts'
import type { WorkerEnvironment, WorkerExit, WorkerProcess } from './messages.ts'

/** Folder of the built program: that of this file, or one that was built from these sources and that is named (by tests). */
const builtFolder =
  path.extname(import.meta.filename) === '.ts' ? process.env['TURNWISE_BUILT'] : import.meta.dirname

/** Finds the script of a process: built where the program is, else the source, whose path begins at this file's folder. */
export const ownScript = (source: string): string =>
  builtFolder === undefined
    ? path.resolve(import.meta.dirname, source)
    : path.join(builtFolder, `${path.basename(source, '.ts')}.js`)

export const jobScript = (): string => ownScript('../jobs/process/jobProcess.ts')

export interface ForkOptions {
  readonly arguments: readonly string[]
  /** File that it writes to itself, as it must not depend on a host that reads; absent: where this process writes to. */
  readonly logFile?: string | undefined
  readonly environment?: WorkerEnvironment | undefined
}

/** Runs a script that talks over Node's channel. Errors: AppError 'file/unwritable' of the log. */
export function forkProcess<Sent, Heard>(
  script: string,
  { arguments: given, logFile, environment = {} }: ForkOptions,
): WorkerProcess<Sent, Heard> {
  const output = logFile === undefined ? null : openOwnFile(logFile)
  const child = fork(script, given, {
    serialization: 'advanced',
    env: { ...process.env, ...environment, ...runtimeEnvironment },
    stdio: ['ignore', output ?? 'inherit', output ?? 'inherit', 'ipc'],
  })
  if (output !== null) closeSync(output) // the process has its own
  return {
    pid: child.pid ?? null,
    send(message) {
      // The channel may close between the question and the sending.
      if (child.connected) child.send(message as object, () => undefined)
    },
    kill: () => void child.kill('SIGKILL'),
    onMessage: (listener) => void child.on('message', (message) => listener(message as Heard)),
    ended: endOf(child),
  }
}

async function endOf(child: ChildProcess): Promise<WorkerExit> {
  try {
    // Messages may still come between the exit and the end of the channel.
    await Promise.all([once(child, 'exit'), once(child, 'disconnect')])
  } catch (error) {
    return { exitCode: null, signal: null, failure: error instanceof Error ? error.message : String(error) }
  }
  return { exitCode: child.exitCode, signal: child.signalCode, failure: null }
}
