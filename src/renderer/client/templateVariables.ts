/** Switches of a chat template: names of one's own, each with a text, a number or a flag. */
import { isObject, valueAt, type JsonObject } from '#shared/config/paths.ts'

export type VariableValue = string | number | boolean
export type VariableKind = 'text' | 'number' | 'flag'

export type Variables = Readonly<Record<string, VariableValue>>

/** What a config says; anything else in it is left out. */
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

/** The same value as another kind, as far as it can be read as one. */
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

/** What a new one begins with: names such as enable_thinking ask for yes or no. */
export const initialValue = (name: string): VariableValue =>
  /^(?:enable|disable|is|has|use|add|keep|strip|no)_|^thinking$/i.test(name) ? false : ''

/** The same names in the same order, one of them with another value. */
export const withVariable = (variables: Variables, name: string, value: VariableValue): Variables => ({
  ...variables,
  [name]: value,
})

export function withoutVariable(variables: Variables, name: string): Variables {
  const { [name]: _, ...rest } = variables
  return rest
}

/** What the chat template of a run is given beside the messages. */
export interface TemplateInput {
  readonly tools?: string
  readonly templateVariables?: Variables
}

export function templateInputOf(config: JsonObject): TemplateInput {
  const tools = valueAt(config, 'data.tools')
  const variables = variablesOf(valueAt(config, 'data.templateVariables'))
  return {
    ...(typeof tools === 'string' && tools !== '' ? { tools } : {}),
    ...(Object.keys(variables).length === 0 ? {} : { templateVariables: variables }),
  }
}
