/** Starts worker processes as utility processes of Electron: the counterpart of the host's childProcess.ts. */
import { closeSync, writeSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { utilityProcess, type UtilityProcess } from 'electron'
import { runtimeEnvironment } from '#shared/runtimeEnvironment.ts'
import { openOwnFile } from '#host/files/ownFiles.ts'
import { jobScript } from '#host/processes/childProcess.ts'
import { heard, isLastWord } from '#host/processes/hostChannel.ts'
import { jobArguments, type StartJob } from '#host/processes/job.ts'
import type { WorkerEnvironment, WorkerExit, WorkerProcess } from '#host/processes/messages.ts'

/** Starts utility processes; tests give another script. */
export const utilityJobStarter =
  (script: string = jobScript()): StartJob =>
  (job, { logFile, environment } = {}) =>
    startUtility(script, {
      serviceName: `Turnwise ${job.name}`,
      arguments: jobArguments(job),
      log: logFile === undefined ? null : openOwnFile(logFile),
      environment,
    })

interface Utility {
  readonly serviceName: string
  readonly arguments: readonly string[]
  /** File that its output goes to, closed at its end; null: where the shell writes to. */
  readonly log: number | null
  readonly environment?: WorkerEnvironment | undefined
}

function startUtility<Sent, Heard>(
  script: string,
  { serviceName, arguments: given, log, environment }: Utility,
): WorkerProcess<Sent, Heard> {
  const child = utilityProcess.fork(script, [...given], {
    serviceName,
    env: { ...process.env, ...environment, ...runtimeEnvironment },
    stdio: log === null ? ['ignore', 'inherit', 'inherit'] : ['ignore', 'pipe', 'pipe'],
  })
  const life = new Life(child, log)
  return {
    get pid() {
      return life.pid
    },
    send(message) {
      // Sending to a process that is exiting has crashed shells.
      if (!life.isOver) child.postMessage(message)
    },
    kill: () => life.kill(),
    onMessage(listener) {
      child.on('message', (message: Heard) => {
        if (isLastWord(message) && !life.isOver) child.postMessage(heard)
        listener(message)
      })
    },
    ended: life.ended,
  }
}

/** Time after the end of a process during which its last output may still arrive, in ms. */
const drainMs = 500

/** Life of a process from the request to start it until its last output is written. */
class Life {
  readonly ended: Promise<WorkerExit>
  readonly #child: UtilityProcess
  /** Null if there is no log, or it has been closed. */
  #log: number | null
  #hasBegun = false
  #isKilled = false
  isOver = false

  constructor(child: UtilityProcess, log: number | null) {
    this.#child = child
    this.#log = log
    child.once('spawn', () => {
      this.#hasBegun = true
      if (this.#isKilled) this.kill()
    })
    child.on('error', (type, location) => this.#write(`${type} in ${location}\n`))
    this.ended = this.#follow()
  }

  get pid(): number | null {
    return this.#child.pid ?? null
  }

  /** Kills through the system: Electron's own way is a request that a training process takes as “finish the step”. */
  kill(): void {
    this.#isKilled = true
    if (this.isOver || this.#child.pid === undefined) return
    try {
      process.kill(this.#child.pid, 'SIGKILL')
    } catch {
      // It exited first.
    }
  }

  async #follow(): Promise<WorkerExit> {
    const { stdout, stderr } = this.#child as { stdout: Readable | null; stderr: Readable | null }
    const outputs = [stdout, stderr].flatMap((stream) => stream ?? []).map((stream) => this.#record(stream))
    const exitCode = await new Promise<number>((resolve) => {
      this.#child.once('exit', (code) => {
        this.isOver = true
        resolve(code)
      })
    })
    const late = new AbortController()
    await Promise.race([Promise.all(outputs), setTimeout(drainMs, undefined, late)])
    late.abort()
    if (this.#log !== null) closeSync(this.#log)
    this.#log = null
    const failure = this.#hasBegun ? null : `exit code ${exitCode} before it began`
    return { exitCode, signal: null, failure }
  }

  /**
   * Writes the whole stream to the log; resolves at its end. Electron feeds the stream from a socket and removes all its
   * listeners when the process ends, even if data is still pending, so the socket itself is read where there is one.
   */
  #record(stream: Readable): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const write = (chunk: Buffer) => this.#write(chunk)
    const follow = (source: Readable) => {
      source.on('data', write)
      for (const end of ['end', 'close', 'error']) source.once(end, () => resolve(undefined))
    }
    stream.once('pipe', (source: Readable) => {
      source.unpipe()
      follow(source)
    })
    follow(stream)
    return promise
  }

  #write(text: Buffer | string): void {
    if (this.#log === null) return
    if (typeof text === 'string') writeSync(this.#log, text)
    else writeSync(this.#log, text)
  }
}
