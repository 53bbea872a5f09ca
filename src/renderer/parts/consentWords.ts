/** Says in words what a consent is about: nothing of it is left out. */
import { isObject } from '#shared/config/paths.ts'
import { parsedJson } from '#shared/parsedJson.ts'

const isText = (value: unknown): value is string => typeof value === 'string'
const isTexts = (value: unknown): value is Readonly<Record<string, string>> =>
  isObject(value) && Object.values(value).every(isText)

/** A word of a command as it stands, or in quotes where a space or a sign would end it. */
const quoted = (word: string): string => (/^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word))

const pairs = (of: Readonly<Record<string, string>>, sign: string): readonly string[] =>
  Object.entries(of).map(([name, value]) => `  ${quoted(name)}${sign}${quoted(value)}`)

/** Null if the form holds anything besides. */
function serverWords(interpreter: string, form: unknown): string | null {
  if (!isObject(form) || Object.keys(form).length !== 2) return null
  const { args, env, url, headers } = form
  if (Array.isArray(args) && args.every(isText) && isTexts(env))
    return [[interpreter, ...args].map(quoted).join(' '), ...pairs(env, '=')].join('\n')
  return isText(url) && isTexts(headers) ? [quoted(url), ...pairs(headers, ': ')].join('\n') : null
}

/** Formats the name of something allowed: an MCP server as its command or address, anything else as its file. */
export function consentWords(interpreter: string, path: string): string {
  if (path.startsWith('interpreter:')) return `the program ${path.slice('interpreter:'.length)}`
  if (!path.startsWith('mcp:')) return path
  const told = path.slice('mcp:'.length)
  return serverWords(interpreter, parsedJson(told)) ?? (told.startsWith('{') ? told : `the file ${told}`)
}
