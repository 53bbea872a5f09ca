/** Evidence in a file for its algorithm, and the words for it. */
import { type AppError, invalidConfig } from '#shared/errors.ts'
import { toolTitles, type ToolId } from '#shared/tools.ts'
import { asText, type Given } from './links.ts'

export interface Evidence {
  readonly given: Given
  /** Returns true if the name is in the file with a value, or is searched there. */
  readonly has: (name: string) => boolean
  /** Returns true if the name is there with a value that is not known. */
  readonly isUnknown: (name: string) => boolean
  /** The program that a command starts; null: no command. */
  readonly program: string | null
}

export interface AlgorithmFinding {
  readonly id: string
  /** Names that decided. */
  readonly names: readonly string[]
  /** Text that follows a colon in a sentence. */
  readonly because: string
}

export const noEquivalent = (tool: ToolId, what: string, nearest: string): AppError =>
  invalidConfig(
    `${toolTitles[tool]}'s ${what} has no equivalent in Turnwise.`,
    nearest === '' ? undefined : `The closest is ${nearest}.`,
  )

const mostNamed = 3

/** “beta and max_length are set” */
export function stands(names: readonly string[]): string {
  const shown = names.slice(0, mostNamed)
  const last = shown.at(-1) ?? ''
  return shown.length === 1 ? `${last} is set` : `${shown.slice(0, -1).join(', ')} and ${last} are set`
}

export const missing = (...names: readonly string[]): string =>
  names.length === 1 ? `${names[0] ?? ''} is not` : `${names.join(' and ')} are not`

export const saidAs = (name: string, value: unknown): string => `${name} is ${asText(value)}`

export const isGiven = (value: unknown): boolean => value !== undefined && value !== null
