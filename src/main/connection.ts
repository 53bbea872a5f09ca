/** The page's end of the line: the API over a message port, and the few things that only a shell can do. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { dialog, ipcMain, shell, type BrowserWindow, type IpcMainInvokeEvent } from 'electron'
import { api, type Api } from '#shared/api/api.ts'
import type { ContractHandlers } from '#shared/api/contract.ts'
import { serve } from '#shared/api/serve.ts'
import { channels } from '#shared/bridge.ts'
import { messagePort } from '#host/transports/messagePort.ts'
import { readChooseOptions, readSaveOptions } from './chooseOptions.ts'
import { isOwnPage } from './origin.ts'

export interface ConnectionOptions {
  readonly services: ContractHandlers<Api>
  /** Told of faults of ours; the page hears only that there was one. */
  readonly onFault: (name: string, error: unknown) => void
  /** The page is there and listens. */
  readonly onConnected: () => void
}

/** Serves every connection that our own page opens; whoever else asks is not answered. Disposing ends them all. */
export function acceptConnections({ services, onFault, onConnected }: ConnectionOptions): Disposable {
  const open = new Set<Disposable>()
  ipcMain.on(channels.connect, (event) => {
    const [port] = event.ports
    if (port === undefined) return
    if (!isOwnPage(event)) {
      port.close()
      return
    }
    const connection = messagePort(port)
    const served = serve(connection, api, services, { onFault })
    open.add(served)
    connection.onClose(() => open.delete(served))
    onConnected()
  })
  return {
    [Symbol.dispose]() {
      for (const served of open) served[Symbol.dispose]()
    },
  }
}

/** Dialogs of the system, over the window. What they answer is a path, or null. */
export function offerDialogs(window: BrowserWindow): void {
  answer(channels.chooseFile, (given) => choose(window, 'openFile', given))
  answer(channels.chooseFolder, (given) => choose(window, 'openDirectory', given))
  answer(channels.chooseSave, async (given) => {
    const { suggestedName, ...options } = readSaveOptions(given)
    const { filePath, canceled } = await dialog.showSaveDialog(window, {
      ...options,
      ...(suggestedName === undefined ? {} : { defaultPath: path.basename(suggestedName) }),
    })
    return canceled || filePath === '' ? null : filePath
  })
  answer(channels.reveal, (file) => {
    if (typeof file !== 'string' || !path.isAbsolute(file) || !existsSync(file)) return false
    shell.showItemInFolder(file)
    return true
  })
}

async function choose(
  window: BrowserWindow,
  property: 'openFile' | 'openDirectory',
  given: unknown,
): Promise<string | null> {
  const { canceled, filePaths } = await dialog.showOpenDialog(window, {
    ...readChooseOptions(given),
    properties: [property],
  })
  return canceled ? null : (filePaths[0] ?? null)
}

function answer(channel: string, handle: (given: unknown) => unknown): void {
  ipcMain.handle(channel, (event: IpcMainInvokeEvent, given: unknown) => {
    if (!isOwnPage(event)) throw new Error('Not our page.')
    return handle(given)
  })
}
