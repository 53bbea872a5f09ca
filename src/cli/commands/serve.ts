/** Commands that open the window in Electron or serve it to a browser. */
import path from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { faultWords } from '#host/faults.ts'
import { launchProgram, runProgram } from '#host/processes/programs.ts'
import { serveHost, type ServedHost } from '#host/serveHost.ts'
import { usageError, whole, type CommandContext, type Context } from '../command.ts'
import {
  browserProgram,
  buildWindow,
  desktopProgram,
  findElectron,
  hasDisplay,
  missingBuild,
  redirectPage,
} from '../desktop.ts'
import { watchInterrupts } from '../interrupt.ts'

const maxPort = 65_535

export const app = (context: Context) =>
  new Command('app')
    .description(
      'Open the window: in Electron if installed, otherwise in the browser.\n\nThe browser is opened only from a terminal on a machine with a display. Ctrl-C stops all runs after their current step and saves a checkpoint of each.',
    )
    .option('--browser', 'use the browser even if Electron is installed', false)
    .option('--no-open', 'print the URL instead of opening the browser')
    .option('--port <P>', 'port to listen on for the browser; 0 picks any free one', whole(0, maxPort), 0)
    .action(async ({ browser, open, port }) => {
      const here = context()
      const { dataDirectory, output } = here
      await buildWindow(output)
      const missing = missingBuild()
      if (missing.length > 0) {
        throw usageError(
          `The window is not built: ${missing.join(', ')} missing.`,
          'In a checkout with all packages (npm ci), build it: npm run build',
        )
      }
      const problem = browser ? null : await runDesktop(dataDirectory)
      if (problem === 'shown') return
      if (problem !== null) output.note(`${problem}; serving the same window to a browser instead.`)
      const opens = open && process.stdout.isTTY && hasDisplay()
      using pages = new DisposableStack()
      // The address stands in the terminal too, should this not work.
      const onServed = async (url: string) => {
        const { file } = pages.use(redirectPage(dataDirectory, url))
        await launchProgram(browserProgram(file))
      }
      await serveUntilInterrupted({ port, ...(opens ? { onServed } : {}) }, here)
    })

/** An Electron that ends badly so soon has shown nothing. */
const failsWithinMs = 10_000

/** 'shown', or why not. */
async function runDesktop(dataDirectory: string): Promise<string> {
  const electron = findElectron()
  if (electron === null) return 'Electron is not installed (npx install-electron downloads it)'
  if (!hasDisplay()) return 'There is no display for Electron'
  const startedAt = performance.now()
  const exit = await runProgram(desktopProgram(electron, dataDirectory))
  if (exit === null) return `Electron cannot be started (${electron})`
  const failed = exit.exitCode !== 0 && performance.now() - startedAt < failsWithinMs
  return failed
    ? `Electron exited immediately (${exit.signal ?? `status ${exit.exitCode ?? 'unknown'}`})`
    : 'shown'
}

export const serve = (context: Context) =>
  new Command('serve')
    .description(
      'Run without a window, for use from a browser on this machine.\n\nOnly this machine can connect, and only with the printed URL, which contains the key. Ctrl-C stops all runs after their current step and saves a checkpoint of each.',
    )
    .option('--port <P>', 'port to listen on; 0 picks any free one', whole(0, maxPort), 0)
    .option('--window <DIR>', 'folder of a different build of the window')
    .action(async ({ port, window }) => {
      const here = context()
      if (window === undefined) await buildWindow(here.output)
      const built = window === undefined ? {} : { windowDirectory: path.resolve(window) }
      await serveUntilInterrupted({ port, ...built }, here)
    })

interface ServingOptions {
  /** 0: any free one. */
  readonly port: number
  /** Another built window than the one that came along. */
  readonly windowDirectory?: string
  /** As soon as it answers. */
  readonly onServed?: (url: string) => Promise<void>
}

/** The first Ctrl-C stops all runs after their step, the second at once. Errors: those of serveHost. */
async function serveUntilInterrupted(
  { onServed, ...options }: ServingOptions,
  { dataDirectory, output }: CommandContext,
): Promise<void> {
  const onFault = (name: string, error: unknown) => output.note(faultWords(name, error))
  const host = await serveHost({ dataDirectory, onFault, ...options })
  if (host.cleared.count > 0) output.note(clearedWords(host.cleared))
  const interrupted = Promise.withResolvers<unknown>()
  using _interrupt = watchInterrupts(
    () => {
      const count = host.training()
      if (count > 0) output.note(stoppingWords(count))
      interrupted.resolve(null)
    },
    () => {
      output.note('Stopping at once.')
      host.kill()
    },
  )
  output.json({ url: host.url })
  output.line(`Turnwise is served at ${host.url}`)
  try {
    await onServed?.(host.url)
    await interrupted.promise
  } finally {
    await host[Symbol.asyncDispose]()
  }
  output.line('Stopped.')
}

const clearedWords = ({ count, bytes }: ServedHost['cleared']): string =>
  `Removed ${count === 1 ? 'an unfinished copy' : `${count} unfinished copies`} left by killed processes: ${(bytes / 1e6).toFixed(1)} MB.`

const stoppingWords = (count: number): string =>
  `Stopping ${count === 1 ? 'a run after its' : `${count} runs after their`} current step; a checkpoint will be saved. Press Ctrl-C again to stop at once.`
