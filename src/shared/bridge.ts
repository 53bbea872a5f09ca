/**
 * What the desktop shell adds to the window, as `window.turnwise`; a browser has none of it. The preload script makes
 * it, the main process answers it, the page uses it; everything else goes through the API.
 */
import type { Port } from './api/protocol.ts'

/** The property of `window`. */
export const bridgeName = 'turnwise'

/** What a person did outside the page, in a menu, the tray or the system. */
export type ShellEvent =
  | { readonly type: 'new-run' }
  | { readonly type: 'add-data' }
  | { readonly type: 'show-keys' }
  | { readonly type: 'show-palette' }
  /** A file or folder was given to the program. */
  | { readonly type: 'open-file'; readonly path: string }
  /** Go to a place, such as /runs/run_… */
  | { readonly type: 'go'; readonly route: string }
  /** The program ends as soon as so many runs have kept a checkpoint. */
  | { readonly type: 'stopping'; readonly runs: number }

export interface FileFilter {
  readonly name: string
  /** Without the dot. */
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
  /** Of the shell. */
  readonly electron: string
  readonly chrome: string
}

export interface Bridge {
  /** Sends on the connection that `listen` opened last. */
  post(text: string): void
  /** Opens a connection to the host in place of the one before; null: it has ended. */
  listen(handler: (message: unknown) => void): void
  /** Where a dropped or chosen file lies; null where it is none of the file system. */
  pathForFile(file: File): string | null
  /** Dialogs of the system; null: nothing was chosen. */
  chooseFile(options?: ChooseOptions): Promise<string | null>
  chooseFolder(options?: ChooseOptions): Promise<string | null>
  chooseSave(options?: SaveOptions): Promise<string | null>
  /** Shows a file in the system's file manager; false where it is not there. */
  reveal(path: string): Promise<boolean>
  readonly platform: PlatformFacts
  /** What happened before the first listener came is told to it. Returns what ends the listening. */
  onEvent(handler: (event: ShellEvent) => void): () => void
}

/** Names under which preload script and main process talk. */
export const channels = {
  connect: 'turnwise:connect',
  event: 'turnwise:event',
  chooseFile: 'turnwise:choose-file',
  chooseFolder: 'turnwise:choose-folder',
  chooseSave: 'turnwise:choose-save',
  reveal: 'turnwise:reveal',
} as const

/** A port of the API over a new connection of the bridge. */
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
