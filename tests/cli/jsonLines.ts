/** What commands print with --json, held against the documented shapes. */
import { isDeepStrictEqual } from 'node:util'
import { jsonOutputs } from '#cli/jsonOutputs.ts'

/** Name of the command in a command line; null: none that prints JSON. */
function commandIn(args: readonly string[]): string | null {
  const words = args.filter(
    (word, at) => word !== '--json' && word !== '--data-dir' && args[at - 1] !== '--data-dir',
  )
  const [first = '', second = ''] = words
  return [`${first} ${second}`, first].find((name) => name in jsonOutputs) ?? null
}

/** Throws where a line of a command’s output has another shape than documented: a field is missing, of another kind, or not listed. */
export function requireDocumented(args: readonly string[], stdout: string): void {
  const name = args.includes('--json') && !args.includes('--help') ? commandIn(args) : null
  const schema = name === null ? undefined : jsonOutputs[name]
  if (schema === undefined) return
  for (const line of stdout.split('\n').filter(Boolean)) {
    const value: unknown = JSON.parse(line)
    const { data, error } = schema.safeParse(value)
    if (error === undefined && isDeepStrictEqual(data, value)) continue
    const why = error?.message ?? differing(data, value)
    throw new Error(
      `${name} --json printed what is not in src/cli/jsonOutputs.ts: ${why}\n${line.slice(0, 500)}`,
    )
  }
}

/** First place where a value has what its schema does not list. */
function differing(listed: unknown, value: unknown, place = ''): string {
  if (typeof value !== 'object' || value === null || typeof listed !== 'object' || listed === null)
    return place
  const key = Object.keys(value).find(
    (name) => !isDeepStrictEqual(listed[name as keyof typeof listed], value[name as keyof typeof value]),
  )
  if (key === undefined) return `${place} (order)`
  return differing(listed[key as keyof typeof listed], value[key as keyof typeof value], `${place}.${key}`)
}
