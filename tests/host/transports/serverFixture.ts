/** A headless host with a small window and a folder of secrets beside it, and raw ways to talk to it. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { WebSocket } from 'ws'
import { startHttpServer, type HttpServer, type HttpServerOptions } from '#host/transports/httpServer.ts'
import { noncePlaceholder } from '#host/transports/staticFiles.ts'
import { serve } from '#shared/api/serve.ts'
import { tokenProtocol, webSocketProtocol } from '#shared/api/webSocketPort.ts'
import { exampleContract, exampleServices, type Seen } from '../../shared/api/exampleContract.ts'

export const secret = 'nobody outside may read this'
const pageText = `<!doctype html><style nonce="${noncePlaceholder}"></style><p>The window</p>`

export interface Fixture extends AsyncDisposable {
  readonly server: HttpServer
  readonly directory: string
  readonly uploads: string
  readonly seen: Seen
  readonly faults: unknown[]
  readonly port: number
}

export async function startFixture(options: Partial<HttpServerOptions> = {}): Promise<Fixture> {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-server-'))
  const window = path.join(directory, 'window')
  const uploads = path.join(directory, 'uploads')
  mkdirSync(path.join(window, 'assets'), { recursive: true })
  mkdirSync(path.join(window, '.git'))
  writeFileSync(path.join(window, 'index.html'), pageText)
  writeFileSync(path.join(window, 'assets', 'index-Ab_1-.js'), 'console.log(1)')
  writeFileSync(path.join(window, '.git', 'config.json'), secret)
  writeFileSync(path.join(window, '.env.json'), secret)
  writeFileSync(path.join(directory, 'secret.json'), secret)
  mkdirSync(path.join(directory, 'window-private'))
  writeFileSync(path.join(directory, 'window-private', 'secret.json'), secret)
  symlinkSync(path.join(directory, 'secret.json'), path.join(window, 'link.json'))
  symlinkSync(directory, path.join(window, 'folder'))
  const { seen, handlers } = exampleServices()
  const faults: unknown[] = []
  const server = await startHttpServer({
    port: 0,
    staticDirectory: window,
    uploadsDirectory: uploads,
    connect: (port) => serve(port, exampleContract, handlers),
    onFault: (_name, error) => faults.push(error),
    ...options,
  })
  return {
    server,
    directory,
    uploads,
    seen,
    faults,
    port: Number(new URL(server.origin).port),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true })
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

/** One request as given: nothing is tidied up on the way. */
export function ask(
  port: number,
  { method = 'GET', path: target = '/', headers, body }: Asked,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path: target, headers: { ...headers }, agent: false }
    const sent = request(options, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString('utf8'),
        })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Sends bytes and answers what comes back until the host closes, or stays silent for a while. */
export function askRaw(port: number, text: string | Uint8Array, silenceMs = 300): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.setTimeout(silenceMs, () => socket.destroy())
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer))
    socket.write(text)
  })
}

export interface Handshake {
  readonly token?: string | null
  readonly origin?: string
  readonly host?: string
  readonly path?: string
  readonly protocols?: readonly string[]
}

/** Opens a WebSocket; the status of the refusal where there is one. */
export async function openSocket(
  { server, port }: Fixture,
  { token = server.token, origin, host, path: target = '/api', protocols }: Handshake = {},
): Promise<WebSocket | number> {
  const offered = protocols ?? [webSocketProtocol, ...(token === null ? [] : [tokenProtocol(token)])]
  const headers = { ...(origin !== undefined && { origin }), ...(host !== undefined && { host }) }
  const socket = new WebSocket(`ws://127.0.0.1:${port}${target}`, [...offered], { headers })
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve(socket))
    socket.on('unexpected-response', (_request, response) => {
      resolve(response.statusCode ?? 0)
      response.destroy()
    })
    socket.on('error', reject)
  })
}
