/** Clients that break the rules of WebSockets, read too slowly or are gone: each ends its own connection only. */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { maxRequestLength } from '#shared/api/protocol.ts'
import { tokenProtocol, webSocketProtocol } from '#shared/api/webSocketPort.ts'
import { askRaw, openSocket, startFixture, type Fixture } from './serverFixture.ts'
import { eventually } from '../../eventually.ts'

let fixture: Fixture
let witness: WebSocket

beforeEach(async () => {
  fixture = await startFixture()
  witness = await opened()
})

afterEach(async () => {
  await fixture[Symbol.asyncDispose]()
})

async function opened(of = fixture): Promise<WebSocket> {
  const socket = await openSocket(of)
  if (typeof socket === 'number') throw new Error(`Refused with ${socket}.`)
  return socket
}

const closeCode = (socket: WebSocket): Promise<number> =>
  new Promise((resolve) => {
    socket.on('error', () => undefined)
    socket.on('close', resolve)
  })

/** Another client of the same host still gets its answers. */
async function expectUnharmed(): Promise<void> {
  const answer = new Promise((resolve) => witness.once('message', (data: Buffer) => resolve(data.toString())))
  witness.send('{"id":5,"kind":"call","name":"sums.add","input":{"left":1}}')
  expect(await answer).toBe('{"id":5,"kind":"ok","value":11}')
  expect(fixture.faults).toEqual([])
}

/** A connection past its handshake on which any bytes can be sent. */
async function rawSocket(): Promise<Socket> {
  const socket = connect(fixture.port, '127.0.0.1')
  const lines = [
    'GET /api HTTP/1.1',
    `Host: 127.0.0.1:${fixture.port}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    `Sec-WebSocket-Protocol: ${webSocketProtocol}, ${tokenProtocol(fixture.server.token)}`,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  return socket
}

/** What the host says when it closes: the code of its close frame. */
function closeFrame(socket: Socket): Promise<number> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      const bytes = Buffer.concat(chunks)
      resolve(bytes.length >= 4 && bytes[0] === 0x88 ? bytes.readUInt16BE(2) : 0)
    })
  })
}

/** A masked frame as a client sends it; the mask is 0, so the bytes stand as they are. */
const frame = (first: number, payload: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), payload])

const text = 0x81
const hugeHeader = Buffer.from([text, 0xff, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])

describe('frames', () => {
  test.each([
    ['without a mask', Buffer.from([text, 0x02, 0x7b, 0x7d]), 1002],
    ['with reserved bits', frame(text | 0x20, Buffer.from('{}')), 1002],
    ['marked as compressed', frame(text | 0x40, Buffer.from('{}')), 1002],
    ['of a reserved kind', frame(0x83, Buffer.from('{}')), 1002],
    ['that go on with nothing', frame(0x80, Buffer.from('{}')), 1002],
    ['of control in pieces', frame(0x09, Buffer.from('{}')), 1002],
    ['that are not UTF-8', frame(text, Buffer.from([0xff, 0xfe])), 1007],
    ['of an impossible close', frame(0x88, Buffer.from([0x03, 0xec])), 1002],
    ['that announce 70 petabytes', hugeHeader, 1009],
    ['of bytes instead of text', frame(0x82, Buffer.from('{"id":1}')), 1008],
    ['of text that is no request', frame(text, Buffer.from('{"id":1}')), 1008],
  ])('%s end the connection', async (_name, bytes, code) => {
    const socket = await rawSocket()
    const closed = closeFrame(socket)
    socket.write(bytes)
    // A client that says goodbye in turn, as it should.
    socket.write(frame(0x88, Buffer.from([code >> 8, code & 0xff])))
    expect(await closed).toBe(code)
    await expectUnharmed()
  })

  test('a message that is too long ends the connection, in one piece or in many', async () => {
    const socket = await opened()
    const closed = closeCode(socket)
    socket.send('x'.repeat(3 * maxRequestLength + 1))
    expect(await closed).toBe(1009)

    const slow = await opened()
    const slowClosed = closeCode(slow)
    const piece = 'x'.repeat(64 * 1024)
    for (let sent = 0; sent <= 3 * maxRequestLength; sent += piece.length) slow.send(piece, { fin: false })
    expect(await slowClosed).toBe(1009)
    await expectUnharmed()
  })

  test('one that its length in characters makes too long ends it as well', async () => {
    const socket = await opened()
    const closed = closeCode(socket)
    socket.send(`{"id":1,"kind":"call","name":"sums.reset","input":"${'x'.repeat(maxRequestLength)}"}`)
    expect(await closed).toBe(1008)
  })

  test('random bytes harm nobody', async () => {
    const noise = randomBytes(200_000)
    for (let at = 0; at < 10; at++) {
      const socket = await rawSocket()
      const closed = closeFrame(socket)
      socket.write(noise.subarray(at * 20_000, (at + 1) * 20_000))
      socket.end()
      await closed
    }
    await expectUnharmed()
  })

  test('a client that does not answer the close is cut off', async () => {
    const socket = await rawSocket()
    const started = performance.now()
    const closed = closeFrame(socket)
    socket.write(frame(text, Buffer.from('nonsense')))
    expect(await closed).toBe(1008)
    expect(performance.now() - started).toBeLessThan(10_000)
  })
})

describe('handshakes', () => {
  const upgrade = (lines: readonly string[]): Promise<string> =>
    askRaw(
      fixture.port,
      `GET /api HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines.join('\r\n')}\r\n\r\n`,
    )

  test('that are incomplete or of another kind are refused', async () => {
    const protocols = `Sec-WebSocket-Protocol: ${webSocketProtocol}, ${tokenProtocol(fixture.server.token)}`
    const key = `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`
    expect(await upgrade([protocols, 'Sec-WebSocket-Version: 13'])).toMatch(/^HTTP\/1\.1 400 /)
    expect(await upgrade([protocols, key, 'Sec-WebSocket-Version: 12'])).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(await upgrade([key, 'Sec-WebSocket-Version: 13'])).toMatch(/^HTTP\/1\.1 401 /)
    await expectUnharmed()
  })

  test('noise instead of HTTP is refused', async () => {
    expect(await askRaw(fixture.port, 'NOISE\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
    expect(await askRaw(fixture.port, randomBytes(5000))).toMatch(/^(HTTP\/1\.1 400 |$)/)
    const header = `X: ${'x'.repeat(100_000)}`
    expect(await askRaw(fixture.port, `GET / HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\n`)).toMatch(
      /^(HTTP\/1\.1 4|$)/,
    )
    await expectUnharmed()
  })

  test('beyond so many connections are refused until one ends', async () => {
    const others = await Promise.all(Array.from({ length: 31 }, () => opened()))
    expect(await openSocket(fixture)).toBe(503)
    others[0]?.terminate()
    await eventually(async () => expect(await openSocket(fixture)).toBeInstanceOf(WebSocket))
    await expectUnharmed()
  })
})

describe('clients', () => {
  test('one that does not read is not listened to until it does', async () => {
    const slow = await opened()
    const replies: number[] = []
    slow.on('message', (data: Buffer) => replies.push(data.length))
    slow.pause()
    const calls = 100
    // More than is read at once: what has been read already is answered.
    const padding = ' '.repeat(1 << 16)
    for (let id = 1; id <= calls; id++)
      slow.send(`{"id":${id},"kind":"call","name":"sums.huge","input":1000000}${padding}`)
    await delay(300)
    await expectUnharmed()
    // The witness's own call counts too. What the system's buffers hold comes on top of the limit.
    expect(fixture.seen.calls).toBeLessThan(60)
    slow.resume()
    await eventually(() => expect(replies).toHaveLength(calls))
    slow.terminate()
  })

  test('one that shows no sign of life is cut off, a quiet one is not', async () => {
    await using other = await startFixture({ pingIntervalMs: 400 })
    const headers = [webSocketProtocol, tokenProtocol(other.server.token)]
    const dead = new WebSocket(`ws://127.0.0.1:${other.port}/api`, headers, { autoPong: false })
    const quiet = await opened(other)
    expect(await closeCode(dead)).toBe(1006)
    expect(quiet.readyState).toBe(WebSocket.OPEN)
  })

  test('hear when the host goes, which waits for none of them', async () => {
    const other = await startFixture()
    const clients = [await opened(other), await opened(other)]
    const closed = Promise.all(clients.map(closeCode))
    await other[Symbol.asyncDispose]()
    expect(await closed).toEqual([1006, 1006])
    await expect(openSocket(other)).rejects.toThrow('ECONNREFUSED')
  })
})
