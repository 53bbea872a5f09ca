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

/** What the desktop shell adds; null in a browser, and where there is no window. */
export const shell: Bridge | null = typeof window === 'undefined' ? null : (window[bridgeName] ?? null)

/** Kept for this origin alone: other ports of this machine do not see it, and a new start of the host makes it worthless. */
const tokenKept = 'turnwise.token'

/** `#token=KEY`, with a route behind it or without: `#token=KEY/runs/run_…`. */
const keyedHash = /#token=([\w-]+)[^/]*(\/.*)?$/

/** The address that the host printed holds the key; it is taken out of the address bar at once. */
export function takeToken(): void {
  const found = keyedHash.exec(location.hash)
  if (found?.[1] === undefined) return
  history.replaceState(null, '', `#${found[2] ?? '/'}`)
  if (found[1] === token()) return
  localStorage.setItem(tokenKept, found[1])
  // A new key is of a host that was started anew; before the first connection there is nothing to start over.
  if (state !== null) location.reload()
}

/** Takes a key, or an address with one, as a person pastes it; false where there is none in it. */
export function giveKey(text: string): boolean {
  const given = keyedHash.exec(text.trim())?.[1] ?? /^[\w-]{20,}$/.exec(text.trim())?.[0]
  if (given === undefined) return false
  localStorage.setItem(tokenKept, given)
  location.reload()
  return true
}

/** Follows the address of this window, and the key that another window was given where this one has no connection. */
export function followToken(): void {
  addEventListener('hashchange', takeToken)
  addEventListener('storage', ({ key, newValue }) => {
    if (key === tokenKept && newValue !== null && state !== 'connected') location.reload()
  })
}

const token = (): string => localStorage.getItem(tokenKept) ?? ''

/** null: not asked yet. */
let state: ConnectionState | null = null

export function connect(onState: (state: ConnectionState, error: Error | null) => void): Client<Api> {
  const bridge = shell
  const openPort =
    bridge === null
      ? () => openWebSocketPort({ origin: location.origin, token: token() })
      : () => Promise.resolve(openBridgePort(bridge))
  return reconnecting<Api>(openPort, {
    onState(next, error) {
      state = next
      onState(next, error)
    },
  })
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
  throw new AppError('file/unreadable', 'The folder has no files that Turnwise can use.')
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
