/**
 * The shell around one host: connects window, menu, tray and notices with Electron. All decisions are made in the
 * neighbouring files.
 */
import {
  app,
  dialog,
  Menu,
  Notification,
  powerMonitor,
  powerSaveBlocker,
  session,
  shell,
  type BrowserWindow,
  type MessageBoxOptions,
} from 'electron'
import type { ShellEvent } from '#shared/bridge.ts'
import type { Host } from '#host/host.ts'
import { createServices } from '#host/api/services.ts'
import { acceptConnections, offerDialogs } from './connection.ts'
import { Leaving } from './leaving.ts'
import { createMainWindow, showWindow, tellPage } from './mainWindow.ts'
import { createTray, menuTemplate } from './menu.ts'
import type { Notice } from '#shared/notices.ts'
import { watchRuns, type Activity } from './news.ts'
import { lockContents, lockSession, serveWindowFiles } from './page.ts'

export interface ShellOptions {
  readonly host: Host
  readonly windowDirectory: string
  readonly onFault: (name: string, error: unknown) => void
}

export interface Shell {
  readonly show: () => void
  /** Sends an event as soon as the page listens. */
  readonly tell: (event: ShellEvent) => void
}

/** Opens the shell; must run once the app is ready. */
export function openShell({ host, windowDirectory, onFault }: ShellOptions): Shell {
  lockSession(session.defaultSession, countBlockedRequests(host))
  serveWindowFiles(session.defaultSession, windowDirectory)
  app.on('web-contents-created', (_event, contents) => lockContents(contents, (url) => void askToOpen(url)))
  const window = createMainWindow(host.store)
  const { tell, flush } = createTeller(window)
  const connections = acceptConnections({ services: createServices(host), onFault, onConnected: flush })
  offerDialogs(window)
  const show = () => showWindow(window)
  Menu.setApplicationMenu(
    Menu.buildFromTemplate(
      menuTemplate({
        platform: process.platform,
        isPackaged: app.isPackaged,
        tell: (event) => {
          show()
          tell(event)
        },
        showDataFolder: () => void shell.openPath(host.dataDirectory),
      }),
    ),
  )
  const ended = new AbortController()
  leaveInOrder({ host, window, tell, connections, ended })
  reviveWindow(window)
  void showNews({ host, window, tell, show }, ended.signal).catch((error: unknown) =>
    onFault('watchRuns', error),
  )
  app.on('activate', show)
  return { show, tell }
}

/** Queues events until the page listens. */
function createTeller(window: BrowserWindow): { tell: (event: ShellEvent) => void; flush: () => void } {
  const waiting: ShellEvent[] = []
  let isThere = false
  window.webContents.on('did-start-loading', () => (isThere = false))
  return {
    tell(event) {
      if (isThere) tellPage(window, event)
      else waiting.push(event)
    },
    flush() {
      isThere = true
      for (const event of waiting.splice(0)) tellPage(window, event)
    },
  }
}

/** True while the question about a link is open: a page that opens many must not flood the screen. */
let isAskingToOpen = false

async function askToOpen(url: string): Promise<void> {
  if (isAskingToOpen) return
  isAskingToOpen = true
  try {
    const { response } = await dialog.showMessageBox({
      type: 'question',
      message: 'Open this address in your browser?',
      detail: url,
      buttons: ['Open', 'Cancel'],
      defaultId: 1,
      cancelId: 1,
      noLink: true,
    })
    if (response === 0) await shell.openExternal(url)
  } finally {
    isAskingToOpen = false
  }
}

interface LeavingParts {
  readonly host: Host
  readonly window: BrowserWindow
  readonly tell: (event: ShellEvent) => void
  readonly connections: Disposable
  /** Aborts the display of news. */
  readonly ended: AbortController
}

function leaveInOrder({ host, window, tell, connections, ended }: LeavingParts): void {
  const ask = async (question: MessageBoxOptions) => {
    const { response } = await (window.isVisible()
      ? dialog.showMessageBox(window, question)
      : dialog.showMessageBox(question))
    return response
  }
  const leaving = new Leaving({
    staysWithoutWindow: process.platform === 'darwin',
    training: () => host.supervisor.list().length,
    ask,
    hide: () => window.hide(),
    showStopping(runs) {
      window.setTitle('Turnwise — saving a checkpoint, then quitting')
      showWindow(window)
      tell({ type: 'stopping', runs })
    },
    kill: () => host.supervisor.list().forEach(({ runId }) => void host.supervisor.kill(runId)),
    async close() {
      host.queue.close()
      // The page exists until the end and may have started another run meanwhile.
      while (host.supervisor.list().length > 0) await host.supervisor.close()
      ended.abort()
      connections[Symbol.dispose]()
      await host[Symbol.asyncDispose]()
    },
    exit: () => app.exit(0),
  })
  window.on('close', (event) => void leaving.windowClosing(event))
  app.on('before-quit', (event) => void leaving.quitting(event))
  const shutDown = (event: { preventDefault(): void }) => {
    event.preventDefault() // asks the system to wait
    void leaving.leave()
  }
  // Missing in Electron's types.
  powerMonitor.on('shutdown', shutDown as () => void)
  window.on('session-end', () => void leaving.leave())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void leaving.leave())
}

/** Reloads a crashed page; training continues in other processes. */
function reviveWindow(window: BrowserWindow): void {
  window.webContents.on('render-process-gone', (_event, { reason }) => {
    if (reason === 'clean-exit') return
    void dialog
      .showMessageBox({
        type: 'warning',
        message: 'The window stopped working',
        detail: `Runs go on, nothing of them is lost (${reason}).`,
        buttons: ['Load it again', 'Quit'],
        noLink: true,
      })
      .then(({ response }) => {
        if (response === 0) window.webContents.reload()
        else app.quit()
      })
  })
}

interface NewsParts {
  readonly host: Host
  readonly window: BrowserWindow
  readonly tell: (event: ShellEvent) => void
  readonly show: () => void
}

async function showNews({ host, window, tell, show }: NewsParts, ended: AbortSignal): Promise<void> {
  const tray = createTray({
    show,
    pause: (runId) => host.supervisor.pause(runId),
    unpause: (runId) => host.supervisor.unpause(runId),
    quit: () => app.quit(),
  })
  const keepAwake = createWakeLock()
  for await (const { activity, notices } of watchRuns(host, ended)) {
    tray.show(activity)
    showBar(window, activity)
    keepAwake(activity.keepsAwake)
    for (const notice of notices) {
      const go = () => {
        show()
        tell({ type: 'go', route: notice.route })
      }
      // A focused window shows it itself.
      if (!window.isFocused()) showNotice(notice, go)
    }
  }
}

function showBar(window: BrowserWindow, { bar }: Activity): void {
  if (!window.isDestroyed()) window.setProgressBar(bar.share, { mode: bar.mode })
}

/** Notices kept until they are clicked or closed, since a garbage-collected one no longer reacts to clicks. */
const notices = new Set<Notification>()

function showNotice({ title, body, kind }: Notice, onClick: () => void): void {
  const notice = new Notification({ title, body, urgency: kind === 'done' ? 'normal' : 'critical' })
  notices.add(notice)
  notice.on('click', onClick)
  notice.on('close', () => notices.delete(notice))
  notice.show()
}

/** Keeps the machine, but not its screen, from going to sleep. */
function createWakeLock(): (isNeeded: boolean) => void {
  let lock: number | null = null
  return (isNeeded) => {
    if (isNeeded && lock === null) lock = powerSaveBlocker.start('prevent-app-suspension')
    if (!isNeeded && lock !== null) {
      powerSaveBlocker.stop(lock)
      lock = null
    }
  }
}

/* How many requests of the window were refused since the program was installed; a page shows the number. */

const blockedRequestsKey = 'network.blockedRequests'

const writeAfterMs = 1000

/** Counts in memory and writes the sum occasionally: a page that sends requests in a loop must not keep the disk busy. */
function countBlockedRequests({ store, notifier }: Pick<Host, 'store' | 'notifier'>): () => void {
  const stored = store.settings.get(blockedRequestsKey)
  let count = typeof stored === 'number' ? stored : 0
  let timer: NodeJS.Timeout | null = null
  return () => {
    count++
    timer ??= setTimeout(() => {
      timer = null
      store.settings.set(blockedRequestsKey, count)
      notifier.notify()
    }, writeAfterMs).unref()
  }
}
