import type { ServerResponse } from 'node:http'
import type { LoopbackServer } from './loopbackServer.ts'

export interface Reply {
  readonly status: number
  /** Text as it is; anything else as JSON. */
  readonly body: string | object
}

export type Body = Readonly<Record<string, unknown>>

/** By path; null: no answer at all. */
export type Routes = Readonly<
  Record<
    string,
    (server: LoopbackServer, body: Body, response: ServerResponse) => Reply | null | Promise<Reply | null>
  >
>

export const modelName = 'starter-at-the-server'

export const notFound: Reply = { status: 404, body: { detail: 'Not Found' } }
