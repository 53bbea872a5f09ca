/** Runs processes that end with this one: each in a group of its own, which is ended whole. */
import { spawn } from 'node:child_process'

const isPosix = process.platform !== 'win32'
const running = new Set()

function end(child) {
  try {
    if (isPosix) process.kill(-child.pid, 'SIGKILL')
    else child.kill('SIGKILL')
  } catch {
    // it has ended
  }
}

/** Ends every process that `ended` started, with what these started. */
export function endAll() {
  for (const child of running) end(child)
}

/** Runs a process for at most `seconds` and returns what it said. */
export function ended(command, args, { env = process.env, seconds }) {
  return new Promise((settle) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env, detached: isPosix })
    running.add(child)
    const [out, err] = [[], []]
    child.stdout.on('data', (bytes) => out.push(bytes))
    child.stderr.on('data', (bytes) => err.push(bytes))
    const left = setTimeout(() => end(child), Math.max(1, seconds * 1000))
    const close = (answer) => {
      clearTimeout(left)
      running.delete(child)
      settle(answer)
    }
    child.on('error', (error) => close({ stdout: '', stderr: error.message, status: null, signal: null }))
    child.on('close', (status, signal) =>
      close({ stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(err).toString(), status, signal }),
    )
  })
}

/** Runs a process and returns the JSON that it prints last, or why it printed none; it ends no other part. */
export async function lastLine(command, args, limits) {
  const { stdout, stderr, status, signal } = await ended(command, args, limits)
  const line = stdout
    .trim()
    .split('\n')
    .findLast((text) => text.startsWith('{'))
  const failed =
    status === 0 ? {} : { failed: signal === 'SIGKILL' ? 'out of time' : lastWords(stderr, status ?? signal) }
  return line === undefined ? { failed: 'it printed nothing', ...failed } : { ...JSON.parse(line), ...failed }
}

export const lastWords = (stderr, status) =>
  stderr.trim().split('\n').slice(-3).join(' ') || `it ended with ${status}`
