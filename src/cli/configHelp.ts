/** The run config in words, for `turnwise help train`; made from its schema. */
import { z } from 'zod'
import { bare } from '#shared/config/fields.ts'
import { runConfigSchema } from '#shared/runConfig.ts'

/** One line per key: path, meaning, default. */
export function configHelpLines(): string[] {
  const rows = rowsOf(runConfigSchema, '')
  const width = Math.max(...rows.map(([path]) => path.length))
  return ['Keys of the config:', ...rows.map(([path, meaning]) => `  ${path.padEnd(width)}  ${meaning}`)]
}

function rowsOf(schema: z.ZodType, prefix: string): [string, string][] {
  if (schema instanceof z.ZodUnion)
    return (schema.options as z.ZodType[]).flatMap((alternative) => rowsOf(alternative, prefix))
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, own]) => {
    const path = `${prefix}${name}`
    const { inner, isNullable } = bare(own)
    const element = inner instanceof z.ZodArray ? bare(inner.element as z.ZodType).inner : null
    if (element instanceof z.ZodObject) return rowsOf(element, `${path}[].`)
    const below = rowsOf(inner, `${path}.`)
    const isSection = inner instanceof z.ZodObject && !isNullable
    return isSection ? below : [[path, meaningOf(own)], ...below]
  })
}

function meaningOf(schema: z.ZodType): string {
  const { description = '', empty } = schema.meta() ?? {}
  const { default: initial } = bare(schema)
  const isRequired = initial === undefined && !schema.safeParse(undefined).success
  const usual = initial === undefined ? '' : `(${JSON.stringify(initial)})`
  const words = [description, empty === undefined ? '' : `null: ${empty}.`, isRequired ? 'Required.' : usual]
  return words.filter(Boolean).join(' ')
}
