/** The run config in words, for `turnwise help train`; made from its schema. */
import { z } from 'zod'
import { runConfigSchema } from '#shared/runConfig.ts'

interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  /** Alternatives; those that are objects have keys of their own. */
  readonly anyOf?: readonly Node[]
  readonly required?: readonly string[]
  readonly description?: string
  readonly default?: unknown
}

/** One line per key: path, meaning, default. */
export function configHelpLines(): string[] {
  const rows = rowsOf(z.toJSONSchema(runConfigSchema, { io: 'input' }) as Node, '')
  const width = Math.max(...rows.map(([path]) => path.length))
  return ['Keys of the config:', ...rows.map(([path, meaning]) => `  ${path.padEnd(width)}  ${meaning}`)]
}

function rowsOf(node: Node, prefix: string): [string, string][] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const path = `${prefix}${name}`
    if (child.properties !== undefined) return rowsOf(child, `${path}.`)
    if (child.items?.properties !== undefined) return rowsOf(child.items, `${path}[].`)
    const row: [string, string] = [path, meaningOf(child, node.required?.includes(name) === true)]
    return [row, ...(child.anyOf ?? []).flatMap((alternative) => rowsOf(alternative, `${path}.`))]
  })
}

function meaningOf(node: Node, isRequired: boolean): string {
  const shown = node.default === undefined ? '' : ` (${JSON.stringify(node.default)})`
  return `${node.description ?? ''}${isRequired ? ' Required.' : shown}`.trim()
}
