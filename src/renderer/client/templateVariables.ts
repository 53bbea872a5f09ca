/** Custom variables of a chat template, each a text, a number or a flag. */
import { isObject, valueAt, type JsonObject } from '#shared/config/paths.ts'

export type VariableValue = string | number | boolean
export type VariableKind = 'text' | 'number' | 'flag'

export type Variables = Readonly<Record<string, VariableValue>>

/** Reads the variables of a config, ignoring anything else in it. */
export const variablesOf = (value: unknown): Variables =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([name, each]) => (isVariable(each) ? [[name, each]] : [])),
      )
    : {}

const isVariable = (value: unknown): value is VariableValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

export function kindOf(value: VariableValue): VariableKind {
  if (typeof value === 'boolean') return 'flag'
  return typeof value === 'number' ? 'number' : 'text'
}

/** Converts a value to another kind as far as it can be read as one. */
export function asKind(value: VariableValue, kind: VariableKind): VariableValue {
  switch (kind) {
    case 'text':
      return String(value)
    case 'number': {
      const number = Number(value)
      return Number.isFinite(number) ? number : 0
    }
    case 'flag':
      return ['true', 'yes', 'on', '1'].includes(String(value).toLowerCase())
  }
}

/** Initial value of a new variable: names such as enable_thinking start as a flag. */
export const initialValue = (name: string): VariableValue =>
  /^(?:enable|disable|is|has|use|add|keep|strip|no)_|^thinking$/i.test(name) ? false : ''

/** Replaces one value, keeping the names and their order. */
export const withVariable = (variables: Variables, name: string, value: VariableValue): Variables => ({
  ...variables,
  [name]: value,
})

export function withoutVariable(variables: Variables, name: string): Variables {
  const { [name]: _, ...rest } = variables
  return rest
}

/** Input of a run's chat template besides the messages. */
export interface TemplateInput {
  readonly tools?: string | JsonObject[]
  readonly templateVariables?: Variables
}

export function templateInputOf(config: JsonObject): TemplateInput {
  const tools = valueAt(config, 'data.tools')
  const variables = variablesOf(valueAt(config, 'data.templateVariables'))
  return {
    ...((typeof tools === 'string' && tools !== '') || Array.isArray(tools)
      ? { tools: tools as string | JsonObject[] }
      : {}),
    ...(Object.keys(variables).length === 0 ? {} : { templateVariables: variables }),
  }
}
