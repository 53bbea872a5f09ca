import { launchProgram, runProgram } from '#host/processes/programs.ts'
import { defineCommand } from '../command.ts'
import { browserProgram, desktopProgram, findElectron, hasDisplay, redirectPage } from '../desktop.ts'
import { flag, integer, usageError } from '../options.ts'
import { serveUntilInterrupted } from '../serving.ts'
import { buildWindow, missingBuild } from '../windowBuild.ts'

/** An Electron that ends badly so soon has shown nothing. */
const failsWithinMs = 10_000

export const app = defineCommand({
  name: 'app',
  summary: 'Open the window: as a program of its own where Electron is installed, else in the browser',
  positionals: [],
  options: {
    browser: flag('use the browser although Electron is installed'),
    noOpen: flag('print the address for the browser, and do not open it'),
    port: integer('P', 'port to listen at for the browser; 0 takes any free one', {
      minimum: 0,
      maximum: 65_535,
      default: 0,
    }),
  },
  notes: () => [
    'The browser is opened only from a terminal on a machine with a display.',
    'Ctrl-C stops all runs after their current step; each keeps a checkpoint.',
  ],
  async run({ options }, context) {
    const { dataDirectory, output } = context
    await buildWindow(output)
    const missing = missingBuild()
    if (missing.length > 0) {
      throw usageError(
        `The window is not built: ${missing.join(', ')} missing.`,
        'In a checkout with all packages (npm ci) this builds it: npm run build',
      )
    }
    const problem = options.browser ? null : await runDesktop(dataDirectory)
    if (problem === 'shown') return
    if (problem !== null) output.note(`${problem}; the same window is served for a browser.`)
    const { port, noOpen } = options
    const opens = !noOpen && process.stdout.isTTY && hasDisplay()
    using pages = new DisposableStack()
    // The address stands in the terminal too, should this not work.
    const onServed = async (url: string) => {
      const { file } = pages.use(redirectPage(dataDirectory, url))
      await launchProgram(browserProgram(file))
    }
    await serveUntilInterrupted({ port, ...(opens ? { onServed } : {}) }, context)
  },
})

/** 'shown', or why not. */
async function runDesktop(dataDirectory: string): Promise<string> {
  const electron = findElectron()
  if (electron === null) return 'Electron is not installed (npx install-electron fetches it)'
  if (!hasDisplay()) return 'There is no display for Electron'
  const startedAt = performance.now()
  const exit = await runProgram(desktopProgram(electron, dataDirectory))
  if (exit === null) return `Electron cannot be started (${electron})`
  const failed = exit.exitCode !== 0 && performance.now() - startedAt < failsWithinMs
  return failed
    ? `Electron ended at once (${exit.signal ?? `status ${exit.exitCode ?? 'unknown'}`})`
    : 'shown'
}
