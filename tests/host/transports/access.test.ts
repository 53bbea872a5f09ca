/** Who gets in, and from where. */
import { networkInterfaces } from 'node:os'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { openWebSocketPort, sessionPath, tokenProtocol, uploadsPath } from '#shared/api/webSocketPort.ts'
import { startHttpServer } from '#host/transports/httpServer.ts'
import { ask, askRaw, openSocket, startFixture, type Fixture } from './serverFixture.ts'

let fixture: Fixture

beforeAll(async () => {
  fixture = await startFixture()
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

describe('the token', () => {
  test('has 192 bits, differs each time and stands in the fragment of the address', async () => {
    const { token, url, origin } = fixture.server
    await using other = await startFixture()
    expect(Buffer.from(token, 'base64url')).toHaveLength(24)
    expect(other.server.token).not.toBe(token)
    expect(url).toBe(`${origin}/#token=${token}`)
    expect(origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  test('opens the API, and is not echoed', async () => {
    const socket = await openSocket(fixture)
    expect(socket).toBeInstanceOf(WebSocket)
    expect((socket as WebSocket).protocol).toBe('turnwise.v1')
    ;(socket as WebSocket).terminate()
  })

  test('is needed for the API', async () => {
    const { token } = fixture.server
    expect(await openSocket(fixture, { token: null })).toBe(401)
    expect(await openSocket(fixture, { token: '' })).toBe(401)
    expect(await openSocket(fixture, { token: 'x'.repeat(32) })).toBe(401)
    expect(await openSocket(fixture, { token: token.slice(0, -1) })).toBe(401)
    expect(await openSocket(fixture, { token: `${token}x` })).toBe(401)
    expect(await openSocket(fixture, { token: token.toLowerCase() })).toBe(401)
    // Neither in the address nor as a header of another kind.
    expect(await openSocket(fixture, { token: null, path: `/api?token=${token}` })).toBe(401)
    expect(await openSocket(fixture, { protocols: [tokenProtocol(token)] })).toBe(400)
    expect(await openSocket(fixture, { path: '/other' })).toBe(404)
  })

  test('is needed for uploads and the session', async () => {
    for (const headers of [{}, bearer('x'.repeat(32)), { authorization: fixture.server.token }]) {
      expect((await ask(fixture.port, { path: sessionPath, headers })).status).toBe(401)
      const upload = { method: 'PUT', path: `${uploadsPath}?name=a.csv`, headers, body: 'a,b' }
      expect((await ask(fixture.port, upload)).status).toBe(401)
    }
    expect(
      (await ask(fixture.port, { path: sessionPath, headers: bearer(fixture.server.token) })).status,
    ).toBe(204)
  })

  test('a client hears whether the token is wrong or the host is gone', async () => {
    const { origin } = fixture.server
    await expect(openWebSocketPort({ origin, token: 'wrong' })).rejects.toMatchObject({ code: 'api/refused' })
    const gone = await startFixture()
    await gone[Symbol.asyncDispose]()
    await expect(openWebSocketPort(gone.server)).rejects.toMatchObject({ code: 'api/disconnected' })
  })

  test('a client hears that there is no room, and may try again', async () => {
    const sockets = await Promise.all(Array.from({ length: 32 }, () => openSocket(fixture)))
    await expect(openWebSocketPort(fixture.server)).rejects.toMatchObject({
      code: 'api/disconnected',
      message: 'The host has reached its limit of connections.',
    })
    for (const socket of sockets) if (typeof socket !== 'number') socket.terminate()
  })

  test('a client of another protocol hears that it is of another version', async () => {
    const { status, body } = await ask(fixture.port, {
      path: `${sessionPath}?protocol=turnwise.v0`,
      headers: bearer(fixture.server.token),
    })
    expect(status).toBe(400)
    expect(body).toContain('different versions')
  })
})

describe('a foreign page', () => {
  const origins = [
    'http://evil.example',
    'https://127.0.0.1',
    'null',
    'http://127.0.0.1:1',
    'file://',
    'http://localhost',
  ]

  test.each(origins)('of origin %s is refused although it has the token', async (origin) => {
    expect(await openSocket(fixture, { origin })).toBe(401)
    const headers = { ...bearer(fixture.server.token), origin }
    expect((await ask(fixture.port, { headers })).status).toBe(401)
    const upload = { method: 'PUT', path: `${uploadsPath}?name=a.csv`, headers, body: 'a' }
    expect((await ask(fixture.port, upload)).status).toBe(401)
  })

  test('gets no leave from a preflight', async () => {
    const headers = { origin: 'http://evil.example', 'access-control-request-method': 'PUT' }
    const { status, headers: answered } = await ask(fixture.port, {
      method: 'OPTIONS',
      path: uploadsPath,
      headers,
    })
    expect(status).toBe(401)
    expect(Object.keys(answered).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('is told from our own', async () => {
    const socket = await openSocket(fixture, { origin: fixture.server.origin })
    expect(socket).toBeInstanceOf(WebSocket)
    ;(socket as WebSocket).terminate()
  })
})

describe('a foreign name for this machine (DNS rebinding)', () => {
  const hosts = [
    'evil.example',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '0.0.0.0',
    '127.0.0.1@evil.example',
  ]

  test.each(hosts)('%s is refused', async (host) => {
    const named = `${host}:${fixture.port}`
    expect(await openSocket(fixture, { host: named, origin: `http://${named}` })).toBe(421)
    for (const path of ['/', sessionPath, uploadsPath]) {
      const headers = { host: named, ...bearer(fixture.server.token) }
      expect((await ask(fixture.port, { path, headers })).status).toBe(421)
    }
  })

  test('none at all is refused', async () => {
    expect(await askRaw(fixture.port, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 421 /)
    expect(await askRaw(fixture.port, 'GET / HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('localhost and the far end of a tunnel are fine', async () => {
    for (const host of [`localhost:${fixture.port}`, 'localhost:9999', '127.0.0.1:9999', '[::1]:9999']) {
      expect((await ask(fixture.port, { headers: { host, origin: `http://${host}` } })).status).toBe(200)
    }
  })
})

describe('the listener', () => {
  const reaches = (host: string): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect({ host, port: fixture.port, timeout: 1000 })
      const end = (isOpen: boolean): void => {
        socket.destroy()
        resolve(isOpen)
      }
      socket.on('connect', () => end(true))
      socket.on('error', () => end(false))
      socket.on('timeout', () => end(false))
    })

  test('is on 127.0.0.1 and on no other address of this machine', async () => {
    const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
    const others = addresses.map(({ address }) => address).filter((address) => address !== '127.0.0.1')
    expect(await reaches('127.0.0.1')).toBe(true)
    for (const address of [...others, '127.0.0.2', '::1'])
      expect([address, await reaches(address)]).toEqual([address, false])
  })

  test('says in words when its port is taken', async () => {
    const options = { staticDirectory: '', uploadsDirectory: '', connect: () => undefined }
    await expect(startHttpServer({ ...options, port: fixture.port })).rejects.toMatchObject({
      code: 'usage/invalid',
      message: expect.stringContaining('another program') as string,
    })
  })
})
