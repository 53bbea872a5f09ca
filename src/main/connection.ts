/** Main process's end of the page's connection: the API over a message port, and the few services that only a shell has. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { dialog, ipcMain, shell, type BrowserWindow, type IpcMainInvokeEvent } from 'electron'
import { api, type Api } from '#shared/api/api.ts'
import type { ContractHandlers } from '#shared/api/contract.ts'
import { serve } from '#shared/api/serve.ts'
import { channels, type FileFilter } from '#shared/bridge.ts'
import { messagePort } from '#host/transports/webSocket.ts'
import { isOwnPage } from './page.ts'

export interface ConnectionOptions {
  readonly services: ContractHandlers<Api>
  /** Receives internal errors; the page learns only that there was one. */
  readonly onFault: (name: string, error: unknown) => void
  readonly onConnected: () => void
}

/** Serves every connection that our own page opens; anyone else gets no answer. Disposing ends them all. */
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

/** Offers the system's dialogs over the window. They answer with a path, or null. */
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

/* The page's options for a dialog, parsed as untrusted input. Errors: TypeError. */

const longestText = 200
const maxEntries = 50

interface DialogOptions {
  title?: string
  filters?: { name: string; extensions: string[] }[]
}

function readChooseOptions(given: unknown): DialogOptions {
  const { title, filters } = fieldsOf(given)
  return {
    ...(title === undefined ? {} : { title: text(title) }),
    ...(filters === undefined ? {} : { filters: entries(filters).map(readFilter) }),
  }
}

function readSaveOptions(given: unknown): DialogOptions & { suggestedName?: string } {
  const { suggestedName } = fieldsOf(given)
  return {
    ...readChooseOptions(given),
    ...(suggestedName === undefined ? {} : { suggestedName: text(suggestedName) }),
  }
}

function readFilter(given: unknown): FileFilter & { extensions: string[] } {
  const { name, extensions } = fieldsOf(given)
  const read = entries(extensions).map(text)
  if (!read.every((each) => /^(?:\*|[A-Za-z0-9.]+)$/.test(each)))
    throw new TypeError('Expected extensions without dot.')
  return { name: text(name), extensions: [...new Set(read.flatMap(inBothCases))] }
}

/** Adds capitals on Linux, whose dialogs compare letters as they stand: `jsonl` alone hides ROWS.JSONL. */
const inBothCases = (extension: string): readonly string[] =>
  process.platform === 'linux' ? [extension, extension.toUpperCase()] : [extension]

function fieldsOf(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object') throw new TypeError('Expected an object.')
  return given as Readonly<Record<string, unknown>>
}

function text(given: unknown): string {
  if (typeof given !== 'string' || given.length > longestText) throw new TypeError('Expected a short text.')
  return given
}

function entries(given: unknown): readonly unknown[] {
  if (!Array.isArray(given) || given.length > maxEntries) throw new TypeError('Expected a short list.')
  return given
}
