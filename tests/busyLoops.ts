/** Programs that keep the machine busy while a test runs: two of them, or as many as TURNWISE_BUSY_LOOPS says. */
import { spawn } from 'node:child_process'

export function startBusyLoops(count = Number(process.env['TURNWISE_BUSY_LOOPS'] ?? 2)): Disposable {
  // None of them outlives the test by long, whatever becomes of it.
  const code = 'const end = Date.now() + 300_000; while (Date.now() < end);'
  const loops = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', code], { stdio: 'ignore' }),
  )
  return { [Symbol.dispose]: () => loops.forEach((loop) => loop.kill('SIGKILL')) }
}
