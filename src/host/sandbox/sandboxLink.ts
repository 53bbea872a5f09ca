/**
 * The host's end of a sandbox process: starts it, asks it, and kills it when it falls silent. What the virtual machine's
 * own limits do not catch (a built-in function that never looks at the clock) ends here.
 */
import type { ChildProcess } from 'node:child_process'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { forkConfined } from './confinement.ts'
import type { FromSandbox, ToSandbox } from './protocol.ts'

const startMs = 30_000

/** False once this program has shown that it does not start with Node's permission model. */
let isConfined = process.allowedNodeEnvironmentFlags.has('--permission')

export class SandboxLink implements Disposable {
  readonly #child: ChildProcess
  readonly #arrived: FromSandbox[] = []
  #wake: () => void = () => {}
  #isGone = false

  constructor() {
    const { dirname, filename } = import.meta
    this.#child = forkConfined(path.join(dirname, `sandboxProcess${path.extname(filename)}`), isConfined)
    this.#child.on('message', (message) => this.#note(message as FromSandbox))
    const gone = () => {
      this.#isGone = true
      this.#wake()
    }
    this.#child.once('error', gone)
    this.#child.once('exit', gone)
  }

  /** A process that answers. Errors: AppError 'sandbox/failed' when it cannot be started. */
  static async start(): Promise<SandboxLink> {
    const link = new SandboxLink()
    const first = await link.next(startMs)
    if (first?.type === 'ready') return link
    const hasRefused = isConfined && link.#child.exitCode !== null
    link[Symbol.dispose]()
    if (hasRefused) {
      // Nothing of the user's has been loaded: it is the program that does not start this way.
      isConfined = false
      const unconfined = await SandboxLink.start()
      process.emitWarning(
        "Reward code runs without Node's permission model, which this program does not accept.",
      )
      return unconfined
    }
    throw new AppError(
      'sandbox/failed',
      'The process that runs reward code could not be started.',
      'Other programs may have used up memory or processes; close some and try again.',
    )
  }

  send(message: ToSandbox): void {
    if (this.#child.connected) this.#child.send(message)
  }

  /** The next message; null when the process is gone or was silent for so long: then it is dead afterwards. */
  async next(silenceMs: number): Promise<FromSandbox | null> {
    if (this.#arrived.length === 0 && !this.#isGone) {
      const { promise, resolve } = Promise.withResolvers<null>()
      const timer = setTimeout(() => resolve(null), silenceMs)
      this.#wake = () => resolve(null)
      await promise
      clearTimeout(timer)
    }
    const message = this.#arrived.shift()
    if (message !== undefined) return message
    this[Symbol.dispose]()
    return null
  }

  [Symbol.dispose](): void {
    this.#isGone = true
    this.#child.kill('SIGKILL')
  }

  #note(message: FromSandbox): void {
    this.#arrived.push(message)
    this.#wake()
  }
}
