/** Connections without the key, however many, do not keep those out that have it. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ask, openSocket, startFixture, type Fixture } from './serverFixture.ts'

const halfOpen = 400
/** Half of the time after which connections that say nothing are closed, which would let others in by itself. */
const soonMs = 30_000
let fixture: Fixture
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await fixture[Symbol.asyncDispose]()
})

/** A request that never comes to its end. */
async function beginRequest(line: string): Promise<void> {
  const socket = connect(fixture.port, '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(line)
}

const within = <T>(promise: Promise<T>): Promise<T | 'late'> =>
  Promise.race([promise, new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), soonMs).unref())])

test.each([
  '',
  'GET / HTTP/1.1\r\nHost: 127',
  'PUT /api/uploads HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n',
])('400 connections that said %j: the window is served, and a client with the key too', async (line) => {
  fixture = await startFixture()
  const before = await openSocket(fixture)
  await Promise.all(Array.from({ length: halfOpen }, () => beginRequest(line)))

  const authorization = `Bearer ${fixture.server.token}`
  const answers = [
    ask(fixture.port, { headers: { host: `127.0.0.1:${fixture.port}` } }).then(({ status }) => status),
    ask(fixture.port, {
      path: '/api/session',
      headers: { host: `127.0.0.1:${fixture.port}`, authorization },
    }).then(({ status }) => status),
  ]
  expect(await within(Promise.all(answers))).toEqual([200, 204])
  const socket = await within(openSocket(fixture))
  expect(socket).toMatchObject({ readyState: 1 })
  // Who had shown the key before is still there.
  expect(before).toMatchObject({ readyState: 1 })
  expect(fixture.faults).toEqual([])
})
