/** A server of the Model Context Protocol with tools that answer, fail, fall silent and die; over pipes, or at the port that it prints. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

function server(): McpServer {
  const made = new McpServer({ name: 'test', version: '1' })
  const numbers = { a: z.number(), b: z.number() }
  made.registerTool('add', { description: 'Adds two numbers.', inputSchema: numbers }, ({ a, b }) =>
    said(String(a + b)),
  )
  if (process.argv.includes('--add-alone')) return made
  made.registerTool('fail', { description: 'Fails.' }, () => {
    throw new Error('no such thing')
  })
  made.registerTool('long', { description: 'Says much.' }, () => said('x'.repeat(9000)))
  made.registerTool('flood', { description: 'Says too much.' }, () => said('x'.repeat(9 << 20)))
  made.registerTool('picture', { description: 'Shows.' }, () => ({
    content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
  }))
  made.registerTool('environment', { description: 'Tells its variables.' }, () =>
    said(JSON.stringify({ ...process.env, words: process.argv.slice(2) })),
  )
  made.registerTool('headers', { description: 'Tells the headers of its call.' }, ({ requestInfo }) =>
    said(JSON.stringify(requestInfo?.headers)),
  )
  made.registerTool('pid', { description: 'Tells its process.' }, () => said(String(process.pid)))
  made.registerTool('wait', { description: 'Never answers.' }, () => new Promise(() => {}))
  made.registerTool('die', { description: 'Ends the server.' }, () => {
    process.stderr.write('I am going.\n')
    process.exit(3)
  })
  return made
}

if (process.argv.includes('--http')) await serveHttp()
else await server().connect(new StdioServerTransport())

/** Prints its address, then a line for each request: what it was asked, and by which key. */
async function serveHttp(): Promise<void> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
  })
  await server().connect(transport)
  const http = createServer((request, response) => {
    const { method = '', url = '' } = request
    const headers = request.headers as Record<string, string>
    process.stdout.write(`${method} ${url} ${headers['x-key'] ?? ''}\n`)
    if (url === '/elsewhere') response.writeHead(307, { location: '/mcp' }).end()
    else if (method !== 'POST') response.writeHead(405).end()
    else
      void text(request).then(async (body) => {
        const answer = await transport.handleRequest(
          new Request(`http://127.0.0.1${url}`, { method, headers, body }),
        )
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
      })
  })
  http.listen(0, '127.0.0.1', () => {
    const place = http.address()
    if (place !== null && typeof place === 'object')
      process.stdout.write(`http://127.0.0.1:${String(place.port)}\n`)
  })
}
