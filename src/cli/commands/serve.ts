/** Commands that open the window in Electron or serve it to a browser. */
import path from 'node:path'
import { Command, Option } from '@commander-js/extra-typings'
import { servedRows } from '#shared/api/serving.ts'
import { deviceOptions, type DeviceOption } from '#shared/device.ts'
import { usageError } from '#shared/errors.ts'
import { heldPrecisions, rolloutPrecisions } from '#shared/precision.ts'
import { createHost } from '#host/createHost.ts'
import { terminalMessage } from '#shared/terminalText.ts'
import { faultWords } from '#host/faults.ts'
import { launchProgram, runProgram } from '#host/processes/programs.ts'
import { held } from '#host/api/queueService.ts'
import type { ServedHost } from '#host/serveHost.ts'
import type { ServingRequest } from '#host/serving/serving.ts'
import { maxThreads, threads, whole, type CommandContext, type Context } from '../command.ts'
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
      // The address is printed in the terminal too, in case this fails.
      const onServed = async (url: string) => {
        const { file } = pages.use(redirectPage(dataDirectory, url))
        await launchProgram(browserProgram(file))
      }
      await serveUntilInterrupted({ port, ...(opens ? { onServed } : {}) }, here)
    })

/** Time within which a failed Electron has shown nothing, in ms. */
const failsWithinMs = 10_000

/** Returns 'shown', or the reason of a failure. */
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
      'Run without a window, for use from a browser on this machine.\n\nOnly this machine can connect, and only with the printed URL, which contains the key. Ctrl-C stops all runs after their current step and saves a checkpoint of each.\n\nWith --openai, serve a model and its adapters to other programs over the API of OpenAI instead. Clients need the printed key; a run’s id stands for its latest checkpoint, RUN@STEP for one of them.',
    )
    .option('--port <P>', 'port to listen on; 0 picks any free one', whole(0, maxPort), 0)
    .option('--window <DIR>', 'folder of a different build of the window')
    .option('--openai', 'serve a model to other programs instead of the window', false)
    .option('--model <MODEL>', 'with --openai: base model, a folder or a name from model list')
    .addOption(
      new Option('--base <PRECISION>', 'with --openai: precision of its matrices (default f32)').choices(
        heldPrecisions,
      ),
    )
    .addOption(
      new Option('--precision <PRECISION>', 'with --openai: weights, exact, or rounded and faster')
        .choices(rolloutPrecisions)
        .default('f32' as const),
    )
    .addOption(
      new Option('--device <KIND>', 'with --openai: device to compute on (default cpu)').choices(
        deviceOptions,
      ),
    )
    .option(
      '--context <N>',
      'with --openai: maximum length of prompt plus completion (default: the model’s)',
      whole(2, 1 << 24),
    )
    .option('--batch <ROWS>', 'with --openai: completions generated together', whole(1, 64), servedRows)
    .option(threads[0], `with --openai: ${threads[1]}`, whole(1, maxThreads))
    .action(async (options) => {
      const { port, window, openai, model } = options
      const here = context()
      if (openai !== (model !== undefined)) {
        throw usageError('Options --openai and --model are given together.', 'See turnwise serve --help.')
      }
      if (model !== undefined) {
        await serveModel({ ...options, model }, here)
        return
      }
      if (window === undefined) await buildWindow(here.output)
      const built = window === undefined ? {} : { windowDirectory: path.resolve(window) }
      await serveUntilInterrupted({ port, ...built }, here)
    })

interface ModelOptions extends Pick<ServingRequest, 'model' | 'port' | 'precision'> {
  readonly base?: ServingRequest['base'] | undefined
  readonly device?: DeviceOption | undefined
  readonly threads?: number | undefined
  readonly context?: number | undefined
  readonly batch: number
}

/**
 * Serves until Ctrl-C. Other processes' runs are visible; none is started. Errors: those of createHost and of starting
 * to serve.
 */
async function serveModel(options: ModelOptions, { dataDirectory, output }: CommandContext): Promise<void> {
  const { model, port, precision, base = null, context: contextLength = null, batch: maxRows } = options
  const device = { kind: options.device ?? null, threads: options.threads ?? null }
  const onFault = (name: string, error: unknown) =>
    output.writeNote(`${terminalMessage(faultWords(name, error))}\n`)
  await using host = createHost({ dataDirectory, servesQueue: false, onFault })
  const interrupted = Promise.withResolvers<unknown>()
  using _interrupt = watchInterrupts(
    () => interrupted.resolve(null),
    () => undefined,
  )
  await host.serving.start({ model, port, precision, base, device, contextLength, maxRows })
  const { status } = host.serving
  if (status.state !== 'on') throw new Error('Expected a server that is on.')
  const { address, key } = status
  output.json({ address, key, model: status.model })
  output.line(`${status.model} is served at ${address}`)
  output.line(`Key: ${key}`)
  await Promise.race([interrupted.promise, host.serving.lost()])
  output.line('Stopped.')
}

interface ServingOptions {
  /** 0: any free port. */
  readonly port: number
  /** Built window that replaces the included one. */
  readonly windowDirectory?: string
  /** Runs as soon as the server answers. */
  readonly onServed?: (url: string) => Promise<void>
}

/**
 * Serves until interrupted: the first Ctrl-C stops runs after their step, the second at once. Errors: those of serveHost.
 */
async function serveUntilInterrupted(
  { onServed, ...options }: ServingOptions,
  { dataDirectory, output }: CommandContext,
): Promise<void> {
  const onFault = (name: string, error: unknown) =>
    output.writeNote(`${terminalMessage(faultWords(name, error))}\n`)
  // Loaded on demand, since other commands need no server and it is slow to load.
  const { serveHost } = await import('#host/serveHost.ts')
  const host = await serveHost({ dataDirectory, onFault, ...options })
  if (host.cleared.count > 0) output.note(clearedWords(host.cleared))
  if (host.isHeld) output.note(`${held.message} ${held.hint}`)
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
