import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PendingClients } from '#host/transports/access.ts'
import { startLoopbackServer, type LoopbackServer } from '#host/transports/loopbackServer.ts'

let server: LoopbackServer

beforeAll(async () => {
  server = await startLoopbackServer({
    port: 0,
    headersMs: 300,
    pendingClients: new PendingClients(),
    answer: (_, response) => Promise.resolve(void response.end('here')),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

/** Writes on a new connection; resolves with all that comes back until its end. */
function saidTo(words: string): Promise<string> {
  const socket = connect(Number(new URL(server.origin).port), '127.0.0.1')
  if (words !== '') socket.write(words)
  return text(socket)
}

test('a connection that was opened ahead ends without a word, which a browser would take for an answer', async () => {
  expect(await saidTo('')).toBe('')
})

test('who does not say all it wants is told that it took too long', async () => {
  expect(await saidTo('GET / HTTP/1.1\r\nHost: 127')).toMatch(/^HTTP\/1\.1 408 /)
})

test('what is no request is told to be none', async () => {
  expect(await saidTo('rubbish\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
})
