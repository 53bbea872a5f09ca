/** Electron's utility processes as real processes of Node, with what is particular about Electron's. */
import { fork, type ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { PassThrough, Transform, type Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** Gives the process `process.parentPort` before its own script runs. */
const parentPortScript = fileURLToPath(new URL('fakeParentPort.ts', import.meta.url))

/** What a process says last arrives after the news of its end. */
const slowStream = () =>
  new Transform({ transform: (chunk, _encoding, pass) => void setTimeout(pass, 5, null, chunk) })

export class UtilityProcess extends EventEmitter {
  static readonly all: UtilityProcess[] = []
  readonly stdout: PassThrough | null
  readonly stderr: PassThrough | null
  readonly script: string
  pid: number | undefined = undefined
  readonly #child: ChildProcess
  constructor(
    script: string,
    given: readonly string[],
    { stdio: [, stdout], env }: { readonly stdio: readonly string[]; readonly env: NodeJS.ProcessEnv },
  ) {
    super()
    this.script = script
    UtilityProcess.all.push(this)
    const isPiped = stdout === 'pipe'
    this.stdout = isPiped ? new PassThrough() : null
    this.stderr = isPiped ? new PassThrough() : null
    const output = isPiped ? 'pipe' : 'inherit'
    this.#child = fork(script, given, {
      serialization: 'advanced',
      env,
      stdio: ['ignore', output, output, 'ipc'],
      execArgv: ['--disable-warning=ExperimentalWarning', '--import', parentPortScript],
    })
    this.#child.on('message', (message) => this.emit('message', message))
    this.#child.once('spawn', () => {
      this.pid = this.#child.pid
      this.#forward(this.#child.stdout, this.stdout)
      this.#forward(this.#child.stderr, this.stderr)
      this.emit('spawn')
    })
    this.#child.once('exit', (code) => this.#end(code ?? 0))
  }
  #forward(from: Readable | null, to: PassThrough | null): void {
    if (from !== null && to !== null) from.pipe(slowStream()).pipe(to)
  }
  /** Electron does so too, whatever of the output has not been read yet. */
  #end(code: number): void {
    this.emit('exit', code)
    this.pid = undefined
    this.stdout?.removeAllListeners()
    this.stderr?.removeAllListeners()
  }
  postMessage(message: unknown): void {
    if (this.#child.connected) this.#child.send(message as object)
  }
  /** A request, as Electron's: it sends SIGTERM. */
  kill(): boolean {
    return this.#child.kill()
  }
}
