/** Processes of ours as child processes of Node. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import path from 'node:path'
import { runtimeEnvironment } from '#shared/runtimeEnvironment.ts'
import { writeError } from '#host/files/fileErrors.ts'
import type {
  FromTrainer,
  ToTrainer,
  StartWorker,
  WorkerEnvironment,
  WorkerExit,
  WorkerProcess,
} from './messages.ts'

/** Folders of the scripts that processes run, in the sources. */
const scriptFolders = {
  trainingProcess: 'jobs/process',
  questionProcess: 'jobs/process',
  servingProcess: 'serving',
  textProcess: 'models',
} as const

/** Finds a script in its folder of the sources, or beside this one in what is built of them. */
export function scriptPath(name: keyof typeof scriptFolders): string {
  const extension = path.extname(import.meta.filename)
  const folder = extension === '.ts' ? path.join('..', scriptFolders[name]) : '.'
  return path.join(import.meta.dirname, folder, `${name}${extension}`)
}

/** `script` is what the process runs. */
export function childProcessStarter(script: string = scriptPath('trainingProcess')): StartWorker {
  return ({ logFile, environment }) => {
    const output = openLog(logFile)
    const child = forkProcess<ToTrainer, FromTrainer>(script, output, environment)
    closeSync(output) // the process has its own
    return child
  }
}

/** Runs a script that talks over Node's channel; `output`: where it writes to. */
export function forkProcess<Sent, Heard>(
  script: string,
  output: number | 'inherit',
  environment: WorkerEnvironment = {},
): WorkerProcess<Sent, Heard> {
  const child = fork(script, {
    serialization: 'advanced',
    env: { ...process.env, ...environment, ...runtimeEnvironment },
    stdio: ['ignore', output, output, 'ipc'],
  })
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

function openLog(file: string): number {
  try {
    return openSync(file, 'a')
  } catch (error) {
    throw writeError(file, error)
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
