/** The single connection to the host: through the desktop shell if present, by WebSocket in a browser. */
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

/** API of the desktop shell; null in a browser and outside of a window. */
export const shell: Bridge | null = typeof window === 'undefined' ? null : (window[bridgeName] ?? null)

/**
 * Storage key of the token. Storage belongs to this origin alone, so other ports of this machine cannot read it; a
 * restart of the host makes the token worthless.
 */
const tokenKept = 'turnwise.token'

/** Matches `#token=KEY`, with or without a route: `#token=KEY/runs/run_…`. */
const keyedHash = /#token=([\w-]+)[^/]*(\/.*)?$/

/** Reads the key from the address that the host printed and removes it from the address bar at once. */
export function takeToken(): void {
  const found = keyedHash.exec(location.hash)
  if (found?.[1] === undefined) return
  history.replaceState(null, '', `#${found[2] ?? '/'}`)
  if (found[1] === token()) return
  localStorage.setItem(tokenKept, found[1])
  // A new key belongs to a restarted host; before the first connection there is nothing to restart.
  if (state !== null) location.reload()
}

/** Accepts a pasted key, or an address with one; returns false if there is none in the text. */
export function giveKey(text: string): boolean {
  const given = keyedHash.exec(text.trim())?.[1] ?? /^[\w-]{20,}$/.exec(text.trim())?.[0]
  if (given === undefined) return false
  localStorage.setItem(tokenKept, given)
  location.reload()
  return true
}

/** Watches the address of this window, and keys given to other windows while this one has no connection. */
export function followToken(): void {
  addEventListener('hashchange', takeToken)
  addEventListener('storage', ({ key, newValue }) => {
    if (key === tokenKept && newValue !== null && state !== 'connected') location.reload()
  })
}

const token = (): string => localStorage.getItem(tokenKept) ?? ''

/** Null before the first attempt. */
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

export type FileSource = { readonly path: string } | { readonly uploadId: string }

/** Uses the path if the shell knows it; a browser sends the file to the host, which streams it to disk. */
export async function sourceOfFile(file: File, signal?: AbortSignal): Promise<FileSource> {
  const path = shell?.pathForFile(file) ?? null
  if (path !== null) return { path }
  return { uploadId: await upload(file, { name: file.name }, signal) }
}

/** Uploads the files of a folder one by one under one id. Errors: AppError 'file/unreadable'. */
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
