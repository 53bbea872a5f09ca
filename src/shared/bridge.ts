/**
 * API of the desktop shell for the window, as `window.turnwise`; absent in a browser. The preload script creates it,
 * the main process answers it, the page uses it; everything else goes through the host's API.
 */
import type { Port } from './api/protocol.ts'

/** Property of `window`. */
export const bridgeName = 'turnwise'

/** Event outside the page, in a menu, the tray or the system. */
export type ShellEvent =
  | { readonly type: 'new-run' }
  | { readonly type: 'add-data' }
  | { readonly type: 'show-keys' }
  | { readonly type: 'show-palette' }
  | { readonly type: 'open-file'; readonly path: string }
  /** Request to open a route, such as /runs/run_… */
  | { readonly type: 'go'; readonly route: string }
  /** Notice that the program ends once `runs` runs have saved a checkpoint. */
  | { readonly type: 'stopping'; readonly runs: number }

export interface FileFilter {
  readonly name: string
  /** Extensions without the dot. */
  readonly extensions: readonly string[]
}

export interface ChooseOptions {
  readonly title?: string
  readonly filters?: readonly FileFilter[]
}

export interface SaveOptions extends ChooseOptions {
  readonly suggestedName?: string
}

export interface PlatformFacts {
  readonly os: 'linux' | 'darwin' | 'win32'
  readonly arch: string
  readonly electron: string
  readonly chrome: string
}

export interface Bridge {
  /** Sends on the connection that `listen` opened last. */
  post(text: string): void
  /** Opens a connection to the host, replacing the previous one; null: it has ended. */
  listen(handler: (message: unknown) => void): void
  /** Path of a dropped or chosen file; null if it is not in the file system. */
  pathForFile(file: File): string | null
  /** Opens a dialog of the system; null: nothing was chosen. */
  chooseFile(options?: ChooseOptions): Promise<string | null>
  chooseFolder(options?: ChooseOptions): Promise<string | null>
  chooseSave(options?: SaveOptions): Promise<string | null>
  /** Shows a file in the system's file manager; false if it does not exist. */
  reveal(path: string): Promise<boolean>
  readonly platform: PlatformFacts
  /** Listens to events; the first listener also receives earlier ones. Returns a function that ends it. */
  onEvent(handler: (event: ShellEvent) => void): () => void
}

export const channels = {
  connect: 'turnwise:connect',
  event: 'turnwise:event',
  chooseFile: 'turnwise:choose-file',
  chooseFolder: 'turnwise:choose-folder',
  chooseSave: 'turnwise:choose-save',
  reveal: 'turnwise:reveal',
} as const

/** Opens a port of the API over a new connection of the bridge. */
export function openBridgePort(bridge: Pick<Bridge, 'post' | 'listen'>): Port {
  let isClosed = false
  let handle: (message: unknown) => void = () => undefined
  const closeHandlers: (() => void)[] = []
  const close = () => {
    isClosed = true
    for (const handler of closeHandlers.splice(0)) handler()
  }
  bridge.listen((message) => {
    if (isClosed) return
    if (message === null) close()
    else handle(message)
  })
  return {
    post(text) {
      if (!isClosed) bridge.post(text)
    },
    listen: (handler) => void (handle = handler),
    close,
    onClose(handler) {
      if (isClosed) handler()
      else closeHandlers.push(handler)
    },
  }
}
