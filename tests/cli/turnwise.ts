/** Running the real command line from tests: in processes of its own, or, where nothing is computed, in this one. */
import { PassThrough } from 'node:stream'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { main } from '#cli/main.ts'

const launcher = fileURLToPath(new URL('../../bin/turnwise.mjs', import.meta.url))

export interface Finished {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

// Commands in this process must not see the runs and models of whoever runs the tests.
process.env['TURNWISE_HOME'] = path.join(tmpdir(), `turnwise-no-home-${process.pid}`)

/** The command line in this process. */
export async function answer(...args: readonly string[]): Promise<Finished> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const status = await main(args, { stdout, stderr })
  return { status, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

export interface Running {
  readonly child: ChildProcess
  readonly finished: Promise<Finished>
  /** Resolves when stdout holds the text. */
  printed(text: string): Promise<void>
}

/** A scratch folder that is also the data directory; removed by dispose. */
export interface Workplace extends Disposable {
  readonly folder: string
  path(name: string): string
  /** Writes a file, as JSON unless it is text. */
  write(name: string, content: unknown): string
  start(...args: readonly string[]): Running
  run(...args: readonly string[]): Promise<Finished>
  /** With lines on standard input. */
  runWith(input: string, ...args: readonly string[]): Promise<Finished>
}

export function createWorkplace(): Workplace {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-cli-'))
  const inside = (name: string) => path.join(folder, name)
  const start = (...args: readonly string[]) => startTurnwise(folder, args)
  return {
    folder,
    path: inside,
    write(name, content) {
      mkdirSync(path.dirname(inside(name)), { recursive: true })
      writeFileSync(inside(name), typeof content === 'string' ? content : JSON.stringify(content))
      return inside(name)
    },
    start,
    run: (...args) => start(...args).finished,
    runWith: (input, ...args) => startTurnwise(folder, args, input).finished,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function startTurnwise(folder: string, args: readonly string[], input?: string): Running {
  // A group of its own, so that a test can kill it with its training process.
  const child = spawn(process.execPath, [launcher, ...args], {
    cwd: folder,
    detached: true,
    env: { ...process.env, TURNWISE_HOME: path.join(folder, 'home'), TURNWISE_DEBUG: '' },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(input)
  const streams = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  const add = (name: 'stdout' | 'stderr') => (chunk: Buffer) => {
    streams[name] += chunk.toString('utf8')
    for (const check of waiting) check()
  }
  child.stdout.on('data', add('stdout'))
  child.stderr.on('data', add('stderr'))
  const finished = new Promise<Finished>((resolve) => {
    child.once('close', (status) => resolve({ status, ...streams }))
  })
  const printed = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        if (!streams.stdout.includes(text)) return
        waiting.delete(check)
        resolve()
      }
      waiting.add(check)
      check()
      void finished.then(({ stdout, stderr }) => {
        if (!stdout.includes(text)) reject(new Error(`Never printed ${text}:\n${stdout}\n${stderr}`))
      })
    })
  return { child, finished, printed }
}

/** Kills the command and everything it started, at once. */
export function killGroup({ child }: Running): void {
  if (child.pid === undefined) throw new Error('Expected a process that was started.')
  process.kill(-child.pid, 'SIGKILL')
}

export const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
