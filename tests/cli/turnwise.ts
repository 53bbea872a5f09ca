/** Running the real command line from tests: in this process, or in one of its own, which can be killed and told to stop. */
import { Writable } from 'node:stream'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { main } from '#cli/main.ts'
import { requireDocumented } from './jsonLines.ts'

const launcher = fileURLToPath(new URL('../../bin/turnwise.mjs', import.meta.url))

export interface Finished {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

// Commands in this process must not see the runs and models of whoever runs the tests.
process.env['TURNWISE_HOME'] = path.join(tmpdir(), `turnwise-no-home-${process.pid}`)

/** The command line in this process, without a data directory unless the words name one. */
export async function answer(...args: readonly string[]): Promise<Finished> {
  const written = { stdout: '', stderr: '' }
  const streamTo = (name: 'stdout' | 'stderr') =>
    new Writable({
      decodeStrings: false,
      write: (text: string, _, done) => {
        written[name] += text
        done()
      },
    })
  const status = await main(args, { stdout: streamTo('stdout'), stderr: streamTo('stderr') })
  requireDocumented(args, written.stdout)
  return { status, ...written }
}

/** One command line after the other has this process to itself. */
let latest: Promise<unknown> = Promise.resolve()

/** As if in a process of its own that was started in the folder: what it changes of this process ends with it. */
function answerIn(folder: string, args: readonly string[]): Promise<Finished> {
  const own = async () => {
    const before = { cwd: process.cwd(), environment: { ...process.env }, umask: process.umask(0o022) }
    process.chdir(folder)
    process.env['TURNWISE_HOME'] = homeIn(folder)
    try {
      return await answer(...args)
    } finally {
      process.chdir(before.cwd)
      process.umask(before.umask)
      for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name)
      Object.assign(process.env, before.environment)
    }
  }
  const done = latest.then(own)
  latest = done.catch(() => undefined)
  return done
}

const homeIn = (folder: string): string => path.join(folder, 'home')

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
  /** In a process of its own, through the launcher. */
  start(...args: readonly string[]): Running
  /** In this process, which need not load the program anew. */
  run(...args: readonly string[]): Promise<Finished>
  /** In a process of its own, with lines on standard input. */
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
    run: (...args) => answerIn(folder, args),
    runWith: (input, ...args) => startTurnwise(folder, args, input).finished,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function startTurnwise(folder: string, args: readonly string[], input?: string): Running {
  // A group of its own, so that a test can kill it with its training process.
  const child = spawn(process.execPath, [launcher, ...args], {
    cwd: folder,
    detached: true,
    env: { ...process.env, TURNWISE_HOME: homeIn(folder), TURNWISE_DEBUG: '' },
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
  }).then((ended) => {
    requireDocumented(args, wholeLines(ended.stdout))
    return ended
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

/** Without the last line of a process that was killed while it wrote. */
const wholeLines = (text: string): string => text.slice(0, text.lastIndexOf('\n') + 1)

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
