/**
 * The messages between client and host.
 *
 * Each request has its own number. `call` is answered by one `ok` or `err`. `stream` is answered by any number of
 * `next` and one `end` or `err`; the host sends a `next` only while it has credit, which the reader renews by `more`
 * as it takes items. `cancel` ends either; no message about that request follows.
 */
import { attempt } from '#shared/attempt.ts'
import type { KeyUse, Problem } from '../errors.ts'

export type RequestMessage =
  | { readonly id: number; readonly kind: 'call'; readonly name: string; readonly input?: unknown }
  | {
      readonly id: number
      readonly kind: 'stream'
      readonly name: string
      readonly input?: unknown
      readonly credit: number
      readonly from?: string
    }
  | { readonly id: number; readonly kind: 'more'; readonly credit: number }
  | { readonly id: number; readonly kind: 'cancel' }

export type ReplyMessage =
  | { readonly id: number; readonly kind: 'ok'; readonly value?: unknown }
  | { readonly id: number; readonly kind: 'err'; readonly error: WireError }
  | { readonly id: number; readonly kind: 'next'; readonly item: unknown }
  | { readonly id: number; readonly kind: 'end' }

/** Fields of an error that are transmitted: no stack, no cause. */
export interface WireError {
  /** Null: a bug in the host, not caused by the caller. */
  readonly code: string | null
  readonly message: string
  readonly hint: string | null
  readonly problems?: readonly Problem[]
  readonly keys?: readonly KeyUse[]
}

/** Length limit of a message to the host, in UTF-16 units. Files are uploaded, never sent as a message. */
export const maxRequestLength = 1024 * 1024

/** Length limit of a message from the host. Long results are paged, so only a mistake exceeds it. */
export const maxReplyLength = 16 * 1024 * 1024

/** Largest number of items in flight to one reader. */
export const maxCredit = 64

const maxNameLength = 100
const maxCursorLength = 16 * 1024

export function parseRequest(message: unknown): RequestMessage | null {
  const fields = parseFields(message, maxRequestLength)
  if (fields === null) return null
  const { id, kind, name, input, credit } = fields
  if (!isCount(id, Number.MAX_SAFE_INTEGER)) return null
  switch (kind) {
    case 'call':
      return isText(name, maxNameLength) ? { id, kind, name, input } : null
    case 'stream':
      return parseStart(id, fields)
    case 'more':
      return isCount(credit, maxCredit) ? { id, kind, credit } : null
    case 'cancel':
      return { id, kind }
    default:
      return null
  }
}

function parseStart(id: number, fields: Fields): RequestMessage | null {
  const { name, input, credit, from } = fields
  if (!isText(name, maxNameLength) || !isCount(credit, maxCredit)) return null
  const start = { id, kind: 'stream', name, input, credit } as const
  if (from === undefined) return start
  return isText(from, maxCursorLength) ? { ...start, from } : null
}

export function parseReply(message: unknown): ReplyMessage | null {
  const fields = parseFields(message, maxReplyLength)
  if (fields === null) return null
  const { id, kind, value, item, error } = fields
  if (!isCount(id, Number.MAX_SAFE_INTEGER)) return null
  switch (kind) {
    case 'ok':
      return { id, kind, value }
    case 'next':
      return { id, kind, item }
    case 'end':
      return { id, kind }
    case 'err':
      return isWireError(error) ? { id, kind, error } : null
    default:
      return null
  }
}

type Fields = Readonly<Record<string, unknown>>

function parseFields(message: unknown, maxLength: number): Fields | null {
  if (typeof message !== 'string' || message.length > maxLength) return null
  return attempt(() => {
    const parsed: unknown = JSON.parse(message)
    return isRecord(parsed) ? parsed : null
  }, null)
}

const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isText = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= maxLength

const isCount = (value: unknown, maximum: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= maximum

function isWireError(error: unknown): error is WireError {
  if (!isRecord(error)) return false
  const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string'
  return typeof error['message'] === 'string' && isTextOrNull(error['code']) && isTextOrNull(error['hint'])
}

/**
 * End of a connection. Ports carry text, so that every message has a size and means the same everywhere: values that
 * are not JSON (NaN, undefined, dates) cannot pass one transport and get lost in another.
 */
export interface Port {
  /** Does nothing once the port is closed. */
  post(text: string): void
  /** Receives every message in order; one that is not text is passed on for the listener to refuse. */
  listen(handler: (message: unknown) => void): void
  /** Closes both ends; `reason` is for whoever inspects the transport. */
  close(reason?: string): void
  /** Runs once, whichever end closed it and for whatever cause; at once if it is closed already. */
  onClose(handler: () => void): void
}
