/** Endless loops of ordinary priority, to test beside: a machine that trains has no idle core. */
import { spawn } from 'node:child_process'

/** Disposing ends them; they also end with this process. */
export function busyLoops(count: number): Disposable {
  const loop = `process.stdin.resume().on('end', () => process.exit()); const spin = () => { const end = performance.now() + 50; while (performance.now() < end); setImmediate(spin) }; spin()`
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', loop], { stdio: ['pipe', 'ignore', 'inherit'] }),
  )
  return {
    [Symbol.dispose]() {
      for (const child of children) child.kill('SIGKILL')
    },
  }
}
