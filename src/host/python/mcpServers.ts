/**
 * Files that name MCP servers, in the form that other programs have them (`mcpServers`): programs to be started, which can do what
 * their person can, or addresses. Each is allowed on this machine as Python is, and listed and withdrawn with it. mcpConnection.ts
 * talks to them.
 */
import path from 'node:path'
import { z } from 'zod'
import { isWebAddress } from '#shared/config/addresses.ts'
import { keyUse } from '#shared/config/keyUses.ts'
import { AppError, type KeyUse } from '#shared/errors.ts'
import { shownText } from '#shared/shownText.ts'
import { allowedKey, type KeyPlace } from '#host/consents/keys.ts'
import { jsonObjectOf, readSmallFile } from '#host/files/strictJson.ts'
import { programFile } from '#host/processes/programs.ts'
import {
  type AllowedInterpreter,
  placeOf,
  programAt,
  type PythonReview,
  requireReviewed,
  reviewContents,
  reviewPython,
} from './consent.ts'
import { mostBytes } from './interpreterFiles.ts'
import { isPythonProgram, loadedFiles, namesFile, unclearPlace } from './loadedFiles.ts'
import { requirePlace } from './pythonEnvironment.ts'

export interface McpSource {
  readonly code: string
  readonly language: 'json'
  /** Path as the user wrote it. */
  readonly file: string
  /** A run's own copy, where the text is read from that. */
  readonly copy?: string
}

/** A server that the person allowed. Values of variables are filled in. */
export type AllowedServer = { readonly name: string; readonly secrets: readonly Secret[] } & (
  | {
      readonly program: AllowedInterpreter
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
    }
  | { readonly url: URL; readonly headers: Readonly<Record<string, string>> }
)

/** The value of a variable, and the value of the header that it is a part of. */
type Secret = readonly [value: string, header?: string]

const texts = z.record(z.string(), z.string()).default({})
const program = z.object({ command: z.string().min(1), args: z.array(z.string()).default([]), env: texts })
const address = z.object({
  url: z.string().refine(isWebAddress),
  type: z.enum(['http', 'streamable-http', 'streamableHttp']).default('http'),
  headers: texts,
})
const fileSchema = z.object({ mcpServers: z.record(z.string(), z.union([program, address])) })
type Started = z.output<typeof program>
type Server = { readonly name: string } & (Started | z.output<typeof address>)

const mostServers = 20

const variableForm = /\$\{([A-Za-z_]\w*)\}/g

/** Variables by which a program loads other code than its own, from places that nobody is shown. */
const loading =
  /^(?:LD_|DYLD_|OPENSSL_|(?:BASH_)?ENV$|NODE_(?:PATH|COMPILE_CACHE)$|PYENV_|HOME$|ZDOTDIR$|GCONV_PATH$|(?:PERL5?|RUBY)(?:LIB|OPT)$|PYTHON(?!PATH$|UNBUFFERED$|IOENCODING$|UTF8$|HASHSEED$|DONTWRITEBYTECODE$|OPTIMIZE$))/i

/** Errors: AppError 'config/invalid'. */
function requirePlainVariables(server: string, { args, env }: Started): void {
  for (const [name, value] of [...Object.entries(env), ...args.flatMap(variablesIn)]) {
    const isPath = /^PYTHONPATH$/i.test(name)
    const isHidden =
      isPath && (value.includes('$') || !value.split(path.delimiter).every((each) => path.isAbsolute(each)))
    if (!loading.test(name) && !isHidden) continue
    throw new AppError(
      'config/invalid',
      `The MCP server “${shownText(server)}” sets ${shownText(name)}${isHidden ? ' to other than whole paths' : ''}, so nothing shows which code it runs.`,
      isHidden
        ? 'Nothing was started. Write the whole path of each folder.'
        : 'Nothing was started. Set it in a script of your own that starts the server, and name that script.',
    )
  }
}

/** Lists variables that a word sets for what it starts, as one of `env` does. Those of a container are its own affair. */
function variablesIn(word: string, i: number, words: readonly string[]): (readonly [string, string])[] {
  if (/^(?:-e|--env)$/.test(words[i - 1] ?? '')) return []
  return [...word.matchAll(/(?<!\S)(\w+)=(\S*)/g)].map(([, name = '', value = '']) => [name, value])
}

/** The option by which Python reads compiled code, among those before its script, one a line: letters stand together, and W and X take the rest or the next. */
const compiledOption =
  /^(?:--check-hash-based-pycs\n.*\n|--(?!check-hash-based-pycs\n).*\n|-[^-cmWX\n]*(?:[WX](?:\n.*|.+))?\n)*(-[^-cmWX\n]*[EI]|-[^-cmWX\n]*X\n?.*pycache_prefix)/

/** Refuses words by which Python reads what was compiled beside its sources. Errors: AppError 'config/invalid'. */
function requirePlainWords(server: string, { command, args }: Pick<Started, 'command' | 'args'>): void {
  const words = [programFile(command) ?? command, ...args].map((each) => each.replaceAll('\n', ' '))
  const word = words
    .map((each, i) =>
      isPythonProgram(each) ? compiledOption.exec(words.slice(i + 1).join('\n'))?.[1] : undefined,
    )
    .find((each) => each !== undefined)
  if (word === undefined) return
  throw new AppError(
    'config/invalid',
    `The MCP server “${shownText(server)}” starts Python with ${shownText(word)}, so that it would read code that was compiled earlier, which nothing shows.`,
    'Nothing was started. Leave the word out.',
  )
}

/** Refuses what names another file for some programs than the one that is compared. Errors: AppError 'config/invalid'. */
function requirePlainPlaces({ name, ...given }: Started & { readonly name: string }): void {
  const place = unclearPlace(given)
  if (place === null) return
  throw new AppError(
    'config/invalid',
    `The MCP server “${shownText(name)}” names ${shownText(place)}, which programs read in different ways, so nothing shows which file it is.`,
    'Nothing was started. Write the whole path, without “.”, “..”, two slashes, a slash behind a file, /proc or /dev/fd (also by a link) and, for modules of Node, signs that URLs have, and name no pipe.',
  )
}

/** Refuses a value that names a file only when it is filled: the file would be compared under a name that may hold a secret. Errors: AppError 'config/invalid'. */
function requireWrittenPlaces({ name, env }: Started & { readonly name: string }): void {
  const filled = (text: string) =>
    text.replaceAll(variableForm, (form, own: string) => process.env[own] ?? form)
  const hidden = Object.entries(env).find(([, text]) => filled(text) !== text && namesFile(filled(text)))
  if (hidden === undefined) return
  throw new AppError(
    'config/invalid',
    `The MCP server “${shownText(name)}” sets ${shownText(hidden[0])} to ${shownText(hidden[1])}, which is the path of a file, so nothing shows which file it is.`,
    'Nothing was started. Write the whole path of the file, without variables.',
  )
}

/** Errors: AppError 'config/invalid', 'python/not-allowed' for a file without its place. The program’s path, and words after it that begin with ./ or ../, are meant from the folder of the file. */
function serversIn({ code, file }: McpSource): Server[] {
  requirePlace(file)
  const { data } = fileSchema.safeParse(jsonObjectOf(Buffer.from(code), file, 'config/invalid'))
  const servers = Object.entries(data?.mcpServers ?? {})
  if (data !== undefined && servers.length > 0 && servers.length <= mostServers) {
    const folder = path.dirname(file)
    const at = (word: string) => (/^\.\.?[\\/]/.test(word) ? path.resolve(folder, word) : word)
    return servers.map(([name, server]) => {
      if ('url' in server) return { name, ...server }
      requirePlainVariables(name, server)
      const words = { command: programAt(server.command, folder), args: server.args.map(at) }
      requirePlainWords(name, words)
      return { name, ...server, ...words }
    })
  }
  throw new AppError(
    'config/invalid',
    `${shownText(file)} names no MCP servers, or in a form that is not known here.`,
    `It is to hold {"mcpServers": {"NAME": {"command": "PROGRAM", "args": […], "env": {…}}}} or {"url": "https://…", "headers": {…}} for a server at an address (streamable HTTP), and at most ${mostServers} of them.`,
  )
}

const ofServer = 'mcp:'

/** Lists what a person allows: the whole command, the program, and files that the command names; or the address. Errors: AppError 'config/invalid', 'sandbox/failed' where there is no such program, 'file/unreadable'. */
function reviewServer(server: Server, consents: string | null): PythonReview {
  if ('url' in server) {
    const { url, headers } = server
    const what = ofServer + JSON.stringify({ url, headers })
    return reviewContents(new URL(url).origin, [[what, what]], consents)
  }
  const { command, args, env, name } = server
  requirePlainPlaces(server)
  requireWrittenPlaces(server)
  if (!/[\\/]/.test(command) && programFile(command) === null) {
    throw new AppError(
      'sandbox/failed',
      `There is no program “${shownText(command)}”, which the MCP server “${shownText(name)}” needs.`,
      'Nothing was started. Install it, or write the path of the program.',
    )
  }
  const what = ofServer + JSON.stringify({ args, env })
  const own = reviewPython({ code: what, language: 'py', file: what, parts: {} }, command, consents)
  const parts = loadedFiles({ program: own.interpreter, args, env }).map(
    (file) => [ofServer + file, readSmallFile(file, mostBytes)] as const,
  )
  const read = reviewContents(own.interpreter, parts, consents)
  return { ...own, files: [...own.files, ...read.files] }
}

/** Errors: as reviewServer. */
export const reviewServers = (source: McpSource, consents: string | null): PythonReview[] =>
  serversIn(source).map((server) => reviewServer(server, consents))

/** Lists the variables whose values go to servers at an address. Errors: AppError 'config/invalid'. */
export const keysOfServers = (source: McpSource): KeyUse[] =>
  serversIn(source).flatMap((server) => ('url' in server ? keysOf(server) : []))

const keysOf = ({ url, headers }: z.output<typeof address>): KeyUse[] =>
  Object.values(headers).flatMap((text) =>
    [...text.matchAll(variableForm)].flatMap(([, variable]) => keyUse(variable, url) ?? []),
  )

/**
 * Returns the only ways to the servers: each call looks anew at what the person allowed, and at the files. Errors of a call: AppError
 * 'python/not-allowed' unless the person allowed this command or address on this machine, 'key/not-allowed'; as reviewServer.
 */
export const allowedServers = (source: McpSource, place: KeyPlace): (() => AllowedServer)[] =>
  serversIn(source).map((server) => () => allowedServer(server, source, place))

function allowedServer(server: Server, source: McpSource, place: KeyPlace): AllowedServer {
  const { name } = server
  const allowed = requireReviewed(reviewServer(server, place.consents), place.consents, {
    what: `${shownText(source.file)} names the MCP server “${shownText(name)}”, which is not sandboxed`,
    warning:
      'Nothing was started or sent. A program could read and change your files and use the network, and a server at an address gets what the model writes to it: allow only what you trust.',
    words: placeOf(source),
  })
  const secrets: Secret[] = []
  const fill = (values: Readonly<Record<string, string>>, url: string | null) =>
    Object.fromEntries(
      Object.entries(values).map(([key, text]) => {
        const own: string[] = []
        const filled = text.replaceAll(variableForm, (_, variable: string) => {
          const value = valueOf(variable, url, name, place)
          own.push(value)
          return value
        })
        secrets.push(...own.map((value): Secret => (url === null ? [value] : [value, filled.trim()])))
        return [key, filled]
      }),
    )
  if ('url' in server)
    return { name, secrets, url: new URL(server.url), headers: fill(server.headers, server.url) }
  return { name, secrets, program: allowed, args: server.args, env: fill(server.env, null) }
}

/** `url`: where the value goes; null: to a program, which was allowed with the name of the variable. Errors: AppError 'key/not-allowed', 'config/invalid'. */
function valueOf(variable: string, url: string | null, name: string, place: KeyPlace): string {
  const who = `MCP server “${shownText(name)}”`
  const own = Object.hasOwn(place.environment, variable) ? place.environment[variable] : undefined
  const value = url === null ? own : allowedKey({ variable, address: url, who }, place)
  if (value !== undefined && value !== null && value !== '') return value
  throw new AppError(
    'config/invalid',
    `The ${who} wants the environment variable ${variable}, but there is none.`,
    'Set it in the environment in which Turnwise is started.',
  )
}
