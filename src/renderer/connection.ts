/** The one connection to the host: through the desktop shell where there is one, by WebSocket in a browser. */
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import { reconnecting, type ConnectionState } from '#shared/api/reconnecting.ts'
import { openWebSocketPort, uploadsPath } from '#shared/api/webSocketPort.ts'
import { bridgeName, openBridgePort, type Bridge } from '#shared/bridge.ts'
import { AppError } from '#shared/errors.ts'

declare global {
  interface Window {
    readonly [bridgeName]?: Bridge
  }
}

/** What the desktop shell adds; null in a browser. */
export const shell: Bridge | null = window[bridgeName] ?? null

const tokenKept = 'turnwise.token'

/** The address that the host printed holds the key; it is taken out of the address bar at once. */
export function takeToken(): void {
  const token = /^#token=([^&]+)/.exec(location.hash)?.[1]
  if (token === undefined) return
  sessionStorage.setItem(tokenKept, token)
  history.replaceState(null, '', '#/')
}

const token = (): string => sessionStorage.getItem(tokenKept) ?? ''

export function connect(onState: (state: ConnectionState) => void): Client<Api> {
  const bridge = shell
  const openPort =
    bridge === null
      ? () => openWebSocketPort({ origin: location.origin, token: token() })
      : () => Promise.resolve(openBridgePort(bridge))
  return reconnecting<Api>(openPort, { onState })
}

/** A file as the API takes it. */
export type FileSource = { readonly path: string } | { readonly uploadId: string }

/** By its path where the shell knows it; a browser sends it to the host, which streams it to its disk. */
export async function sourceOfFile(file: File, signal?: AbortSignal): Promise<FileSource> {
  const path = shell?.pathForFile(file) ?? null
  if (path !== null) return { path }
  return { uploadId: await upload(file, { name: file.name }, signal) }
}

/** The files of a folder, one after the other under one id. Errors: AppError 'file/unreadable'. */
export async function sourceOfFolder(files: readonly File[], signal?: AbortSignal): Promise<FileSource> {
  let uploadId: string | null = null
  for (const file of files)
    uploadId = await upload(file, { name: file.name, into: uploadId ?? 'new' }, signal)
  if (uploadId !== null) return { uploadId }
  throw new AppError('file/unreadable', 'The folder has no file that Turnwise could use.')
}

async function upload(file: File, query: Record<string, string>, signal?: AbortSignal): Promise<string> {
  const response = await fetch(`${uploadsPath}?${new URLSearchParams(query).toString()}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token()}` },
    body: file,
    ...(signal === undefined ? {} : { signal }),
  })
  const answer = (await response.json()) as { uploadId?: string; message?: string; hint?: string | null }
  if (answer.uploadId !== undefined) return answer.uploadId
  throw new AppError(
    'file/unreadable',
    answer.message ?? `${file.name} could not be sent to the host.`,
    answer.hint ?? 'Nothing was changed. Try again.',
  )
}
