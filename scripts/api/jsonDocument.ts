/** docs/json.md: what each command prints with --json, from the table of src/cli/jsonOutputs.ts. */
import { z } from 'zod'
import { jsonOutputs } from '#cli/jsonOutputs.ts'
import { isObject, type JsonObject } from '#shared/config/paths.ts'

const head = `# JSON output of commands

With \`--json\` a command prints JSON alone on standard output; what it says to people goes to standard error. Most print one document; commands that
follow something (\`train\`, \`resume\`, \`chat\`, …) print one on each line. An error is a sentence on standard error with the exit status 1, or 2 for wrong usage.
Fields may be added later; none is renamed or removed, and a \`null\` stays where it is. \`{ … }\` has further fields, which may change.
Times are milliseconds since 1970. What a field means stands in [Formats](formats.md), the [reference](reference.md) and \`src/shared/api\`.

The table is in \`src/cli/jsonOutputs.ts\`; \`npm run docs:api\` writes this page, and the tests of all commands compare what they print with it.
`

const longest = 100

/** Writes a JSON Schema as a type of TypeScript. */
function typeOf(schema: unknown, indent = ''): string {
  if (!isObject(schema)) return 'unknown'
  const { anyOf, oneOf = anyOf, enum: words, type: kind } = schema
  if (Array.isArray(oneOf)) return anyOfThese(oneOf, indent)
  if (Array.isArray(words)) return words.map((each) => JSON.stringify(each)).join(' | ')
  if (Array.isArray(kind))
    return anyOfThese(
      kind.map((each: unknown) => ({ ...schema, type: each })),
      indent,
    )
  return 'const' in schema ? JSON.stringify(schema['const']) : plainType(schema, indent)
}

function plainType(schema: JsonObject, indent: string): string {
  const { type: kind } = schema
  if (kind === 'array') return listType(schema, indent)
  if (kind === 'object') return objectType(schema, indent)
  if (kind === 'integer') return 'number'
  return typeof kind === 'string' ? kind : 'unknown'
}

const anyOfThese = (options: readonly unknown[], indent: string): string =>
  [...new Set(options.map((each) => typeOf(each, indent)))].join(' | ')

function listType({ items, prefixItems }: JsonObject, indent: string): string {
  if (Array.isArray(prefixItems)) return `[${prefixItems.map((each) => typeOf(each, indent)).join(', ')}]`
  const item = typeOf(items, indent)
  return item.includes(' | ') && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
}

function objectType({ properties, required, additionalProperties }: JsonObject, indent: string): string {
  const inner = `${indent}  `
  const needed = Array.isArray(required) ? required : []
  const named = Object.entries(isObject(properties) ? properties : {}).map(
    ([name, each]) =>
      `${/^\w+$/.test(name) ? name : `'${name}'`}${needed.includes(name) ? '' : '?'}: ${typeOf(each, inner)}`,
  )
  const isLoose = isObject(additionalProperties)
  const isMap = isLoose && named.length === 0 && Object.keys(additionalProperties).length > 0
  if (isMap) return `{ [name: string]: ${typeOf(additionalProperties, indent)} }`
  const fields = [...named, ...(isLoose ? ['…'] : [])]
  const line = `{ ${fields.join(', ')} }`
  return line.length + indent.length <= longest && !line.includes('\n')
    ? line
    : `{\n${fields.map((field) => `${inner}${field}\n`).join('')}${indent}}`
}

/** Returns the page. Errors: an Error for a schema that JSON Schema cannot say. */
export function jsonDocument(): string {
  const parts = Object.entries(jsonOutputs).map(([command, schema]) => {
    const written = typeOf(z.toJSONSchema(schema, { unrepresentable: 'any' }))
    return `\n## ${command}\n\n\`\`\`ts\n${written}\n\`\`\`\n`
  })
  return [head, ...parts].join('')
}
