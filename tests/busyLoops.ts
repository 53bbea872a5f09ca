/** Endless loops of ordinary priority to test beside: a machine that trains has no idle core. */
import { spawn } from 'node:child_process'

/** Looks now and then whether whoever started it is still there. */
const loop = `
  process.stdin.resume().on('end', () => process.exit())
  const spin = () => {
    const end = performance.now() + 100
    while (performance.now() < end);
    setImmediate(spin)
  }
  spin()
`

/** Two of them, or as many as TURNWISE_BUSY_LOOPS says. Disposing ends them; they also end with this process. */
export function startBusyLoops(count = Number(process.env['TURNWISE_BUSY_LOOPS'] ?? 2)): Disposable {
  const loops = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', loop], { stdio: ['pipe', 'ignore', 'ignore'] }),
  )
  return { [Symbol.dispose]: () => loops.forEach((each) => each.kill('SIGKILL')) }
}
