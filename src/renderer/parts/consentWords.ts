/** What a consent is about, in words: nothing of it is left out. */
import { z } from 'zod'

const program = z.strictObject({ args: z.array(z.string()), env: z.record(z.string(), z.string()) })
const server = z.strictObject({ url: z.string(), headers: z.record(z.string(), z.string()) })

/** A word of a command as it stands, or in quotes where a space or a sign would end it. */
const quoted = (word: string): string => (/^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word))

const pairs = (of: Readonly<Record<string, string>>, sign: string): readonly string[] =>
  Object.entries(of).map(([name, value]) => `  ${quoted(name)}${sign}${quoted(value)}`)

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Formats the name of something allowed: an MCP server as its command or address, anything else as its file. */
export function consentWords(interpreter: string, path: string): string {
  if (path.startsWith('interpreter:')) return `the program ${path.slice('interpreter:'.length)}`
  if (!path.startsWith('mcp:')) return path
  const told = path.slice('mcp:'.length)
  const command = program.safeParse(parsed(told))
  if (command.success) {
    const { args, env } = command.data
    return [[interpreter, ...args].map(quoted).join(' '), ...pairs(env, '=')].join('\n')
  }
  const address = server.safeParse(parsed(told))
  if (address.success) return [quoted(address.data.url), ...pairs(address.data.headers, ': ')].join('\n')
  return told.startsWith('{') ? told : `the file ${told}`
}
