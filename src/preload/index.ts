/** Preload script, in the page's process but out of its reach; gives the page the bridge and nothing else. */
import { contextBridge, ipcRenderer, webUtils } from 'electron'
import { bridgeName, channels, type Bridge, type PlatformFacts, type ShellEvent } from '#shared/bridge.ts'

/** End of a channel as pages see it; Node's type of the same name has other methods. */
interface PagePort {
  onmessage: ((event: { readonly data: unknown }) => void) | null
  addEventListener(type: 'close', listener: () => void): void
  postMessage(text: string): void
  close(): void
}

let connection: PagePort | null = null

/**
 * Passes one end of a channel to the main process and keeps the other here, so that the page never holds a port that
 * could be passed on.
 */
function connect(handler: (message: unknown) => void): void {
  connection?.close()
  const { port1, port2 } = new MessageChannel()
  const own = port1 as unknown as PagePort
  own.onmessage = ({ data }) => handler(data)
  own.addEventListener('close', () => handler(null))
  connection = own
  ipcRenderer.postMessage(channels.connect, null, [port2])
}

/** Events received before anybody listened. */
const early: ShellEvent[] = []
const handlers = new Set<(event: ShellEvent) => void>()

ipcRenderer.on(channels.event, (_event, event: ShellEvent) => {
  if (handlers.size === 0) early.push(event)
  for (const handler of handlers) handler(event)
})

const bridge: Bridge = {
  post: (text) => connection?.postMessage(text),
  listen: connect,
  pathForFile: (file) => webUtils.getPathForFile(file) || null,
  chooseFile: (options) => ipcRenderer.invoke(channels.chooseFile, options) as Promise<string | null>,
  chooseFolder: (options) => ipcRenderer.invoke(channels.chooseFolder, options) as Promise<string | null>,
  chooseSave: (options) => ipcRenderer.invoke(channels.chooseSave, options) as Promise<string | null>,
  reveal: (path) => ipcRenderer.invoke(channels.reveal, path) as Promise<boolean>,
  platform: {
    os: process.platform as PlatformFacts['os'],
    arch: process.arch,
    electron: process.versions.electron,
    chrome: process.versions.chrome,
  },
  onEvent(handler) {
    handlers.add(handler)
    for (const event of early.splice(0)) handler(event)
    return () => void handlers.delete(handler)
  },
}

contextBridge.exposeInMainWorld(bridgeName, bridge)
