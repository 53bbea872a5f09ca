/** Types generated from data: the settings of a run from their schemas, and the names of metrics. */
import { z } from 'zod'
import { metricDeclarations } from '#shared/metrics.ts'
import { runConfigSchema } from '#shared/runConfig.ts'

/** The part of JSON Schema that settings are made of. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  /** What null means. */
  readonly empty?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
}

function typeOf(schema: Schema, indent: string): string {
  const { type } = schema
  const values = 'const' in schema ? [schema.const] : schema.enum
  if (values !== undefined) return values.map((each) => JSON.stringify(each)).join(' | ')
  const kinds = Array.isArray(type) ? type.map((each: string) => ({ ...schema, type: each })) : undefined
  const choices = schema.anyOf ?? schema.oneOf ?? kinds
  if (choices === undefined) return plainType(schema, indent)
  return [...new Set(choices.map((each) => typeOf(each, indent)))].join(' | ')
}

function plainType(schema: Schema, indent: string): string {
  const { type, items = {} } = schema
  if (type === 'object') return objectType(schema, indent)
  if (type === 'array') return `readonly ${bracketed(typeOf(items, indent))}[]`
  if (type === 'integer') return 'number'
  return typeof type === 'string' ? type : 'unknown'
}

const bracketed = (type: string): string => (/[|{]/.test(type) ? `(${type})` : type)

function objectType({ properties, required = [], additionalProperties }: Schema, indent: string): string {
  const inner = `${indent}  `
  if (properties === undefined || Object.keys(properties).length === 0) {
    const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown'
    return `{ readonly [name: string]: ${values} }`
  }
  const members = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?'
    return `${comment(schema, inner)}${inner}readonly ${name}${mark}: ${typeOf(schema, inner)}`
  })
  return `{\n${members.join('\n')}\n${indent}}`
}

/** What it is, what null means, and what it is where nobody says. */
function comment({ description, empty, default: usual }: Schema, indent: string): string {
  const isSaid = usual !== undefined && usual !== null && JSON.stringify(usual) !== '{}'
  const words = [
    description,
    empty === undefined ? undefined : `null: ${empty}.`,
    isSaid ? `Default: ${JSON.stringify(usual)}.` : undefined,
  ].filter((each) => each !== undefined)
  return words.length === 0 ? '' : `${indent}/** ${words.join(' ').replaceAll('*/', '* /')} */\n`
}

const schemaOf = (io: 'input' | 'output'): Schema =>
  z.toJSONSchema(runConfigSchema, { io, unrepresentable: 'any' }) as Schema

const metricNames = Array.from(metricDeclarations, ([name, { label, unit, explanation }]) => {
  const type = name.includes('{') ? `\`${name.replaceAll(/\{\w+\}/g, '${string}')}\`` : `'${name}'`
  return `  /** ${label}, ${unit}. ${explanation} */\n  | ${type}`
})

/** By name, as they stand in a file of declarations. */
export const generatedTypes: Readonly<Record<string, string>> = {
  RunConfig: `/** The config of a run with all defaults. */\nexport interface RunConfig ${objectType(schemaOf('output'), '')}`,
  RunConfigInput: `/**
 * The config of a run, as in a file for \`turnwise train\`. Omitted keys take their defaults, unknown keys are refused.
 */
export interface RunConfigInput ${objectType(schemaOf('input'), '')}`,
  MetricName: `/** Names of metrics. */\nexport type MetricName =\n${metricNames.join('\n')}`,
}
