/** Connections that have not shown the token yet. However many come, there is room for one more. */
import type { Socket } from 'node:net'

export class Strangers {
  readonly #most: number
  /** In the order in which they came. */
  readonly #sockets = new Set<Socket>()

  constructor(most: number) {
    this.#most = most
  }

  /** Ends the one that has been there longest where there are too many: who means it has said what it wants by then. */
  add(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    const [oldest] = this.#sockets
    if (this.#sockets.size <= this.#most || oldest === undefined) return
    this.#sockets.delete(oldest)
    oldest.destroy()
  }

  /** It has shown the token. */
  trust(socket: Socket): void {
    this.#sockets.delete(socket)
  }
}
