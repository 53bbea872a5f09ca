/**
 * A connection to an MCP server (modelcontextprotocol.io, tools), with the official SDK's client: its tools, and calls of them. A
 * server that died or fell silent is started or asked anew at the next call.
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult, JSONRPCMessage, Tool } from '@modelcontextprotocol/sdk/types.js'
import { devNull } from 'node:os'
import path from 'node:path'
import { isOnThisMachine } from '#shared/config/addresses.ts'
import { isObject } from '#shared/config/paths.ts'
import { AppError } from '#shared/errors.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { pythonStartLimit } from '#host/processes/limits.ts'
import { hidingStrings, keyHider } from '#host/consents/keys.ts'
import type { AllowedServer } from './mcpServers.ts'
import { type Program, startProgram } from './program.ts'
import { pythonEnvironment } from './pythonEnvironment.ts'

/** Result of a call as the model reads it. */
export interface CalledTool {
  readonly text: string
  readonly isError: boolean
}

/** Largest message of a server, in characters or bytes. */
const mostCharacters = 8 << 20
/** Most pages of a list of tools. */
const mostPages = 50

/** Says why a server gave no answer. */
export class LostServer extends Error {}

export class McpConnection implements AsyncDisposable {
  readonly #allowed: () => AllowedServer
  readonly #onRequest: () => void
  readonly name: string
  #hide: (text: string) => string = (text) => text
  #client: Promise<Client> | null = null
  #transport: Transport | null = null
  /** End of the last program, in words, with its last output. */
  #end: string | null = null

  /**
   * `allowed`: asked before each start, since the program, its files or the person's mind may have changed; its errors are thrown.
   * `onRequest`: called before another machine is contacted.
   */
  constructor(allowed: () => AllowedServer, onRequest: () => void) {
    this.#allowed = allowed
    this.#onRequest = onRequest
    this.name = allowed().name
  }

  /** Errors: AppError 'sandbox/failed' for a server that does not start or answer. */
  async tools(): Promise<readonly Tool[]> {
    const { ListToolsResultSchema } = await protocol()
    const tools: Tool[] = []
    try {
      let cursor: string | undefined
      for (let page = 0; page < mostPages && (page === 0 || cursor !== undefined); page++) {
        const params = cursor === undefined ? {} : { cursor }
        const answer = await this.#ask(pythonStartLimit.idleMs / 1000, (client, options) =>
          client.request({ method: 'tools/list', params }, ListToolsResultSchema, options),
        )
        tools.push(...answer.tools)
        cursor = answer.nextCursor
      }
      return JSON.parse(JSON.stringify(tools), hidingStrings(this.#hide)) as Tool[]
    } catch (error) {
      throw new AppError(
        'sandbox/failed',
        `${this.#who} lists no tools: ${this.#words(error)}`,
        'Start its command in a terminal, or ask its address, to see what it says.',
        error,
      )
    }
  }

  /** Returns what a tool says of its own failure as its result. `seconds`: the longest silence. Errors: LostServer. */
  async call(name: string, given: Readonly<Record<string, unknown>>, seconds: number): Promise<CalledTool> {
    const { CallToolResultSchema, McpError } = await protocol()
    const params = { name, arguments: given }
    try {
      const result = await this.#ask(seconds, (client, options) =>
        client.request({ method: 'tools/call', params }, CallToolResultSchema, options),
      )
      return { text: this.#hide(resultText(result)), isError: result.isError === true }
    } catch (error) {
      // The server lives, and refused the call.
      if (error instanceof McpError && !isClosed(error))
        return { text: `Error: ${this.#words(error)}`, isError: true }
      throw new LostServer(`${this.#who} gave no answer: ${this.#words(error)}`)
    }
  }

  get #who(): string {
    return `The MCP server “${this.name}”`
  }

  #words(error: unknown): string {
    const { message, cause } = error instanceof Error ? error : new Error(String(error))
    const why = isClosed(error) ? (this.#end ?? message) : message
    return this.#hide(cause instanceof Error ? `${why}: ${cause.message}` : why).slice(0, 1000)
  }

  async #ask<Answer>(
    seconds: number,
    ask: (client: Client, options: AskOptions) => Promise<Answer>,
  ): Promise<Answer> {
    const { McpError } = await protocol()
    const { promise: silent, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new LostServer(`it was silent for ${seconds} s`)), seconds * 1000)
    const options = { timeout: longestMs, onprogress: () => void timer.refresh() }
    const answer = this.#open().then((client) => ask(client, options))
    try {
      return await Promise.race([answer, silent])
    } catch (error) {
      answer.catch(() => {})
      if (!(error instanceof McpError)) await this.#close()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  #open(): Promise<Client> {
    if (this.#client !== null) return this.#client
    const forget = () => {
      if (this.#client === opened) this.#client = null
    }
    const opened: Promise<Client> = this.#connect(forget)
    opened.catch(forget)
    this.#client = opened
    return opened
  }

  async #connect(onClose: () => void): Promise<Client> {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const server = this.#allowed()
    const hiders = server.secrets.map((secret) => keyHider(...secret))
    this.#hide = (text) => hiders.reduce((hidden, hide) => hide(hidden), text)
    const client = new Client({ name: 'turnwise', version: '1' })
    client.onclose = onClose
    const onEnd = (words: string, output: string) => {
      // The lines of a key are hidden while all of them are there.
      const last = this.#hide(output).split('\n').slice(-6).join('\n')
      this.#end = last === '' ? words : `${words} Its last output: ${last}`
    }
    const transport = 'url' in server ? await this.#http(server) : stdioTransport(server, onEnd)
    this.#transport = transport
    await client.connect(transport, { timeout: longestMs })
    return client
  }

  async #http({ url, headers }: Extract<AllowedServer, { url: URL }>): Promise<Transport> {
    const { StreamableHTTPClientTransport } =
      await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
    const ask = async (place: string | URL, init?: RequestInit): Promise<Response> => {
      if (!isOnThisMachine(url.href)) this.#onRequest()
      // A redirect could take a key elsewhere.
      const response = await fetch(place, { ...init, redirect: 'error' })
      return bounded(response)
    }
    // Its type says `sessionId?: string`, which exactOptionalPropertyTypes does not take for the interface's.
    return new StreamableHTTPClientTransport(url, { requestInit: { headers }, fetch: ask })
  }

  /** Closes the transport itself, since a client may still wait for the server to greet. */
  async #close(): Promise<void> {
    this.#client = null
    const transport = this.#transport
    this.#transport = null
    await transport?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close()
  }
}

/** Loaded on demand: few runs need the protocol. */
const protocol = () => import('@modelcontextprotocol/sdk/types.js')

const isClosed = (error: unknown): boolean =>
  error instanceof Error && error.message === 'MCP error -32000: Connection closed'

/** A timer of the SDK that never fires: silence is ours to notice. */
const longestMs = 2 ** 31 - 1

interface AskOptions {
  readonly timeout: number
  readonly onprogress: () => void
}

/** Words of a result; of what is no text, only what it is. */
function resultText({ content, structuredContent }: CallToolResult): string {
  const parts = content.map((part) => {
    if (part.type === 'text') return part.text
    if (part.type === 'resource_link') return `[${part.name}: ${part.uri}]`
    if (part.type !== 'resource') return `[${part.type}, ${part.mimeType}]`
    return 'text' in part.resource ? part.resource.text : `[${part.resource.uri}]`
  })
  return parts.length === 0 && structuredContent !== undefined
    ? JSON.stringify(structuredContent)
    : parts.join('\n')
}

/** Fails where an answer, or a stream of them, is too large. */
function bounded(response: Response): Response {
  let size = 0
  const counted = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        size += chunk.byteLength
        if (size > mostCharacters) controller.error(new LostServer('its answer is too large.'))
        else controller.enqueue(chunk)
      },
    }),
  )
  const { status, statusText, headers } = response
  return counted === undefined ? response : new Response(counted, { status, statusText, headers })
}

/** Variables that a program gets besides its own: those that say where things are, without a proxy's password. */
const inherited =
  /^(?:HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LC_\w+|TMPDIR|TEMP|TMP|APPDATA|LOCALAPPDATA|HOMEDRIVE|HOMEPATH|USERPROFILE|USERNAME|SYSTEMDRIVE|SYSTEMROOT|PROGRAMFILES|PROCESSOR_ARCHITECTURE|XDG_\w+|(?:HTTPS?|NO|ALL)_PROXY)$/i

function inheritedEnvironment(): NodeJS.ProcessEnv {
  const isGiven = ([name, value = '']: [string, string | undefined]) =>
    inherited.test(name) && !(/_PROXY$/i.test(name) && value.includes('@'))
  return Object.fromEntries(Object.entries(pythonEnvironment(null)).filter(isGiven))
}

/** Lines of JSON over the pipes of a program, which is killed with its process group when the connection is closed. */
function stdioTransport(
  { program, args, env }: Extract<AllowedServer, { args: readonly string[] }>,
  onEnd: (words: string, output: string) => void,
): Transport {
  let started: Program | null = null
  let begun = ''
  const transport: Transport = {
    start() {
      const hear = (text: string) => {
        const [first = '', ...more] = text.split('\n')
        const lines = [begun + first, ...more]
        begun = lines.pop() ?? ''
        for (const line of lines) {
          const message = parsedJson(line)
          if (isObject(message)) transport.onmessage?.(message as unknown as JSONRPCMessage)
        }
        if (begun.length > mostCharacters) started?.kill()
        return ''
      }
      // Compiled code that lies beside a script may be other code than the script's: none is read, nor written.
      const environment = { ...inheritedEnvironment(), ...env, PYTHONPYCACHEPREFIX: devNull }
      // In no folder into which others could put settings, modules or files of the command.
      const folder = path.parse(program).root
      started = startProgram(program, { args }, { folder, environment, hear, isQuiet: true })
      void started.ended.then(({ tail, exitCode, signal }) => {
        const how = signal ?? (exitCode === null ? 'it does not start' : `exit code ${exitCode}`)
        onEnd(`it ended (${how}).`, tail)
        transport.onclose?.()
      })
      return Promise.resolve()
    },
    send(message) {
      started?.say(JSON.stringify(message))
      return Promise.resolve()
    },
    async close() {
      started?.kill()
      await started?.ended
    },
  }
  return transport
}
