/** Access control of the headless host: requests need its token, its own Host and its own Origin. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'

const tokenBytes = 24

/** 192 random bits, in characters that a URL and a header take as they are. */
export const createToken = (): string => randomBytes(tokenBytes).toString('base64url')

/** Takes the same time however much of the token is right; its length is no secret. */
export function isToken(given: string | undefined, token: string): boolean {
  const [shown, own] = [Buffer.from(given ?? ''), Buffer.from(token)]
  return shown.length === own.length && timingSafeEqual(shown, own)
}

/** The token of a header such as `Authorization: Bearer …`. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]

const loopbackHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i

/**
 * Returns true if a Host header names this machine's loopback. Another name means that a foreign page had its own name
 * pointed here (DNS rebinding). Any port will do: a tunnel may end at another one.
 */
export const isLoopbackHost = (host: string | undefined): host is string => loopbackHost.test(host ?? '')

/**
 * Returns true if a request comes from a page of this very host. Programs send no Origin; browsers cannot leave it out.
 */
export const isOwnOrigin = (origin: string | undefined, host: string): boolean =>
  origin === undefined || origin.toLowerCase() === `http://${host.toLowerCase()}`

/* Connections that have not shown the token yet. However many come, there is room for one more. */

const maxPendingClients = 128

export class PendingClients {
  /** Sockets in the order in which they came. */
  readonly #sockets = new Set<Socket>()

  /** Ends the one that has been there longest where there are too many: who means it has said what it wants by then. */
  add(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    const [oldest] = this.#sockets
    if (this.#sockets.size <= maxPendingClients || oldest === undefined) return
    this.#sockets.delete(oldest)
    oldest.destroy()
  }

  /** Marks a client as trusted after it has shown the token. */
  trust(socket: Socket): void {
    this.#sockets.delete(socket)
  }
}
