/**
 * The desktop app. Reading guide of this folder:
 *
 *   index.ts          (here) one program at a time, with a host of its own
 *   shell.ts          window, menu, tray and notices around that host
 *   page.ts           source and permissions of the page
 *   connection.ts     the API and the dialogs for the page; preload/ is their other end
 *   leaving.ts        closing and quitting while a run is being trained
 *   news.ts           state of runs for menu.ts and notices
 *   utilityJob.ts     processes of jobs
 */
import { hash } from 'node:crypto'
import { existsSync, lstatSync, realpathSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { app, dialog } from 'electron'
import { AppError } from '#shared/errors.ts'
import { makeFolder } from '#host/files/atomic.ts'
import { keepPrivate } from '#host/files/permissions.ts'
import { createHost } from '#host/createHost.ts'
import { resolveDataDirectory } from '#host/dataDirectory.ts'
import { faultToStderr } from '#host/faults.ts'
import { filesOf, readHandover, type Handover } from './openedFiles.ts'
import { quietSwitches, registerAppScheme } from './page.ts'
import { openShell, type Shell } from './shell.ts'
import { utilityJobStarter } from './utilityJob.ts'

const windowDirectory = fileURLToPath(new URL('../../out/renderer', import.meta.url))

keepPrivate()
const dataDirectory = resolveDataDirectory(undefined)

app.setName('Turnwise')
app.setAppUserModelId('dev.turnwise.app')
app.enableSandbox()
for (const [name, value] of quietSwitches) app.commandLine.appendSwitch(name, value)
registerAppScheme()

const files = filesOf(process.argv, app.isPackaged, process.cwd())
const handover: Handover = { files }

if (!hasProfile()) app.exit(1)
else if (app.requestSingleInstanceLock({ ...handover })) start()
else app.exit(0)

/**
 * Gives each data directory a program of its own, with Chromium's files. They lie outside of it: they hold compiled code, which nobody
 * may send along with runs.
 */
function hasProfile(): boolean {
  try {
    makeFolder(dataDirectory)
    const place = hash('sha256', realpathSync.native(dataDirectory)).slice(0, 32)
    const profile = path.join(app.getPath('appData'), 'Turnwise Window', place)
    makeFolder(profile)
    app.setPath('userData', profile)
    return true
  } catch (error) {
    refuseToStart(error)
    return false
  }
}

/** Removes the profile of earlier versions; one that cannot be removed stays for the next start. */
function removeFormerProfile(): void {
  const former = path.join(dataDirectory, 'window')
  const isFolder = lstatSync(former, { throwIfNoEntry: false })?.isDirectory() === true
  if (!isFolder || !existsSync(path.join(former, 'Local State'))) return
  try {
    rmSync(former, { recursive: true })
  } catch {
    // Nothing reads it.
  }
}

function start(): void {
  const waiting = [...files]
  let shell: Shell | null = null
  const open = (opened: readonly string[]) => {
    if (shell === null) waiting.push(...opened)
    else for (const file of opened) shell.tell({ type: 'open-file', path: file })
  }
  app.on('second-instance', (_event, _argv, _folder, given) => {
    shell?.show()
    open(readHandover(given))
  })
  // Event of macOS for opened files.
  app.on('open-file', (event, file) => {
    event.preventDefault()
    open([file])
  })
  // Closing the window asks first and quits the program itself.
  app.on('window-all-closed', () => undefined)
  void app
    .whenReady()
    .then(() => {
      shell = createShell()
      removeFormerProfile()
      open(waiting.splice(0))
    })
    .catch(refuseToStart)
}

function createShell(): Shell {
  const host = createHost({
    dataDirectory,
    servesQueue: true,
    startJob: utilityJobStarter(),
  })
  return openShell({ host, windowDirectory, onFault: faultToStderr })
}

/** Prints the error, since there is no window yet. */
function refuseToStart(error: unknown): void {
  const hint = error instanceof AppError ? (error.hint ?? '') : 'This is a fault in Turnwise.'
  const message = error instanceof Error ? error.message : String(error)
  dialog.showErrorBox('Turnwise cannot start', `${message}\n\n${hint}`)
  faultToStderr('start', error)
  app.exit(1)
}
