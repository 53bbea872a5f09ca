/**
 * One end of a connection. Ports carry text, so that every message has a size and means the same everywhere: what is
 * not JSON (NaN, undefined, dates) cannot slip through one transport and get lost in another.
 */
export interface Port {
  /** Does nothing once the port is closed. */
  post(text: string): void
  /** Called for every message in order; one that is no text is passed on for the listener to refuse. */
  listen(handler: (message: unknown) => void): void
  /** Ends the connection at both ends; `reason` is for whoever looks into the transport. */
  close(reason?: string): void
  /** Called once, whichever end closed it and for whatever cause; at once if it is closed already. */
  onClose(handler: () => void): void
}
