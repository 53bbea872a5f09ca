/** Options of commands from the settings of requests, which forms show too: flags, help, limits and defaults. */
import { Option } from '@commander-js/extra-typings'
import {
  requestFields,
  type Control,
  type RequestSchema,
  type RequestSettings,
} from '#shared/config/fields.ts'
import { usageError } from '#shared/errors.ts'
import { oneOf, real, whole } from './command.ts'

/** Adds an option for each setting that has flags; `settingsOf` reads them. */
export function withSettings<C extends { addOption(option: Option<string>): unknown }>(
  command: C,
  schema: RequestSchema,
): C {
  for (const { option } of optionsOf(schema)) command.addOption(option)
  return command
}

/** Returns the settings, by their own names. Errors: AppError 'usage/invalid', where values exclude each other. */
export function settingsOf<S extends RequestSchema>(schema: S, options: object): RequestSettings<S> {
  const given = new Map<string, unknown>(Object.entries(options))
  const named = optionsOf(schema).map(({ name, option }) => [name, given.get(option.attributeName())])
  const parsed = schema.safeParse(Object.fromEntries(named.filter(([, value]) => value !== undefined)))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const option = optionsOf(schema).find(({ name }) => name === issue?.path[0])?.option
  throw usageError(`Option ${option?.long ?? ''}: ${issue?.message ?? ''}`)
}

function optionsOf(schema: RequestSchema) {
  return requestFields(schema).flatMap((field) => {
    const { flags, phrase } = field
    if (flags === null) return []
    const option = new Option<string>(flags, phrase)
    const read = parserOf(field.control)
    if (read !== null) option.argParser(read)
    if (field.default !== undefined && field.default !== null) option.default(field.default)
    return [{ name: field.key, option }]
  })
}

function parserOf(control: Control): ((text: string) => unknown) | null {
  if (control.kind === 'choice') return oneOf(control.options.map(({ value }) => value))
  if (control.kind !== 'number') return null
  const [from, to] = [control.from?.value ?? -Infinity, control.to?.value ?? Infinity]
  return control.isInteger
    ? whole(Math.max(from, Number.MIN_SAFE_INTEGER), Math.min(to, Number.MAX_SAFE_INTEGER))
    : real(from, to)
}
