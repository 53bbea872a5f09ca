/**
 * A process of the person's own Python interpreter, and what is said over its pipes: a line of JSON per request, a line
 * per answer. It is no sandbox. It is killed when it passes a limit, together with all that it started, and ends by itself
 * when this process does.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { AppError } from '#shared/errors.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { pythonStartLimit } from '#host/processes/limits.ts'
import { writing } from '#host/files/fileErrors.ts'
import { Inbox } from '#host/processes/messages.ts'
import { familyMeter } from '#host/processes/processorTime.ts'
import { Overrun, withinLimit, type WorkLimit } from '#host/processes/workLimit.ts'
import { type AllowedInterpreter, interpreterHint } from './consent.ts'
import { importsNothingHere } from './program.ts'
import { pythonEnvironment } from './pythonEnvironment.ts'

/** Maximum size of an answer. */
const maxLineBytes = 256 << 20

/** Characters of standard error that are kept to explain a failure. */
const keptCharacters = 2_000

/**
 * The adapter, and the module with its rule of imports, are the first line it reads: inside a packed program they are no files that
 * Python could open. Modules beside the user's code must not take the place of those that they import.
 */
const bootstrap = `${importsNothingHere}
import json, types
rule, adapter = json.loads(sys.stdin.buffer.readline())
imports = sys.modules["turnwise_imports"] = types.ModuleType("turnwise_imports")
imports.source = rule
exec(compile(rule, "turnwise_imports.py", "exec"), vars(imports))
exec(compile(adapter, "turnwise_adapter.py", "exec"))`

const ownSource = (name: string): string =>
  readFileSync(path.join(resourcesDirectory, 'python', name), 'utf8')

export interface PythonRequest {
  readonly call: 'load' | 'describe' | 'score' | 'reset' | 'step' | 'rows'
  readonly [argument: string]: unknown
}

/** The answers received; `fault`: why there are no more, as a sentence. The process is dead then. */
export interface PythonReply {
  readonly answers: readonly unknown[]
  readonly fault: { readonly kind: 'timeout' | 'exception'; readonly message: string } | null
}

/** Errors: AppError 'file/unwritable'. */
const newFolder = (): string =>
  writing(tmpdir(), () => realpathSync(mkdtempSync(path.join(tmpdir(), 'turnwise-python-'))))

export class PythonProcess implements Disposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>
  /** Holds what Python keeps for the processes that it starts; nobody else writes there, and it goes with this process. */
  readonly privateFolder = newFolder()
  #chunks: Buffer[] = []
  #chunkBytes = 0
  /** Lines, and null at the end. */
  readonly #inbox = new Inbox<{ readonly answer: unknown } | null>()
  #stderrTail = ''
  #lastId = 0
  #end: string | null = null

  private constructor(interpreter: AllowedInterpreter, folder: string | null) {
    const isPosix = process.platform !== 'win32'
    this.#child = spawn(interpreter, ['-S', '-u', '-c', bootstrap], {
      // Not in the folder of the code.
      cwd: path.dirname(interpreter),
      env: { ...pythonEnvironment(folder), PYTHONHASHSEED: '0', PYTHONIOENCODING: 'utf-8' },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own: a Ctrl-C in the terminal is not for it, and what it starts is killed with it.
      detached: isPosix,
      windowsHide: true,
    })
    this.#child.stdin.on('error', () => {})
    this.#child.stdout.on('data', (chunk: Buffer) => this.#hear(chunk))
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderrTail = (this.#stderrTail + text).slice(-keptCharacters)
    })
    this.#child.once('error', (error) => this.#finish(error.message))
    this.#child.once('exit', () => this.#endGroup())
    this.#child.once('close', (code, signal) => {
      const how = signal === null ? `exit code ${code ?? '?'}` : signal
      this.#finish(`Python exited (${how}).${this.#words()}`)
      this.#removePrivate()
    })
  }

  /** An interpreter with the adapter; `folder`: of the code that it will load, null for a package. Errors: AppError 'sandbox/failed' where there is none, or one that is too old; 'file/unwritable'. */
  static async start(interpreter: AllowedInterpreter, folder: string | null): Promise<PythonProcess> {
    const python = new PythonProcess(interpreter, folder)
    const sources = ['turnwise_imports.py', 'turnwise_adapter.py'].map(ownSource)
    python.#child.stdin.write(`${JSON.stringify(sources)}\n`)
    const { answers, fault } = await python.#collect(0, 1, pythonStartLimit)
    if (fault === null) {
      const [{ python: version }] = answers as [{ python: number[] }]
      const [major = 0, minor = 0] = version
      if (major === 3 && minor >= 9) return python
      python[Symbol.dispose]()
      throw new AppError(
        'sandbox/failed',
        `${interpreter} is Python ${version.join('.')}; Turnwise needs 3.9 or newer.`,
        interpreterHint,
      )
    }
    python[Symbol.dispose]()
    throw new AppError(
      'sandbox/failed',
      `The Python interpreter “${interpreter}” does not start: ${fault.message}`,
      interpreterHint,
    )
  }

  get isAlive(): boolean {
    return this.#end === null
  }

  /** Sends a request and awaits `count` answers, each within the limit. */
  async ask(request: PythonRequest, count: number, limit: WorkLimit): Promise<PythonReply> {
    const id = ++this.#lastId
    if (this.#end === null) this.#child.stdin.write(`${JSON.stringify({ id, ...request })}\n`)
    return this.#collect(id, count, limit)
  }

  async #collect(id: number, count: number, limit: WorkLimit): Promise<PythonReply> {
    const answers: unknown[] = []
    while (answers.length < count) {
      const news = await withinLimit(
        this.#inbox.next(),
        familyMeter(() => this.#child.pid ?? null),
        limit,
      )
      if (news === null) return this.#ended(answers)
      if (news instanceof Overrun) {
        const message = `Python was killed because ${news.message}.${this.#words()}`
        this[Symbol.dispose]()
        return { answers, fault: { kind: 'timeout', message } }
      }
      if (!isAnswer(news.answer, id)) {
        this.#finish('The code wrote to the pipe that Turnwise reads.')
        this[Symbol.dispose]()
        return this.#ended(answers)
      }
      answers.push(news.answer)
    }
    return { answers, fault: null }
  }

  #ended(answers: readonly unknown[]): PythonReply {
    return { answers, fault: { kind: 'exception', message: this.#end ?? '' } }
  }

  #hear(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#chunks.push(chunk.subarray(from, at))
      const line = Buffer.concat(this.#chunks).toString('utf8')
      this.#chunks = []
      this.#chunkBytes = 0
      this.#inbox.add({ answer: parsedJson(line) })
      from = at + 1
    }
    this.#chunks.push(chunk.subarray(from))
    this.#chunkBytes += chunk.length - from
    if (this.#chunkBytes > maxLineBytes) {
      this.#finish(`An answer is longer than ${maxLineBytes >> 20} MB.`)
      this[Symbol.dispose]()
    }
  }

  #words(): string {
    const words = this.#stderrTail.trim()
    return words === '' ? '' : ` Its last output: ${words.split('\n').slice(-6).join('\n')}`
  }

  #finish(why: string): void {
    if (this.#end !== null) return
    this.#end = why
    this.#inbox.add(null)
  }

  #endGroup(): void {
    const { pid } = this.#child
    try {
      if (pid !== undefined && process.platform !== 'win32') process.kill(-pid, 'SIGKILL')
    } catch {
      // It is gone already, and all that it started.
    }
  }

  #removePrivate(): void {
    try {
      rmSync(this.privateFolder, { recursive: true, force: true })
    } catch {
      // Something that Python started still writes there; it is tried again when all of it has ended.
    }
  }

  [Symbol.dispose](): void {
    this.#finish('Python was killed.')
    const { exitCode, signalCode } = this.#child
    if (exitCode === null && signalCode === null) this.#endGroup()
    this.#child.kill('SIGKILL')
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy()
    this.#removePrivate()
  }
}

const isAnswer = (answer: unknown, id: number): boolean =>
  typeof answer === 'object' && answer !== null && 'id' in answer && answer.id === id
