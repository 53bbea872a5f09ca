import { stringify } from 'yaml'

/**
 * A document that readers of YAML 1.1, such as Python's, understand as we do: "no" stays a text, and 1e-8 a number, which
 * they only see with a point in it.
 */
export const yamlText = (value: unknown): string =>
  stringify(value, { version: '1.1', schema: 'yaml-1.1', lineWidth: 0 }).replaceAll(
    /^(.*[:-] -?\d+)(e[+-]\d+)$/gm,
    '$1.0$2',
  )
