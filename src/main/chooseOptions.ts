/** What the page wishes of a dialog, read as if it came from a stranger. Errors: TypeError. */
import type { FileFilter } from '#shared/bridge.ts'

const longestText = 200
const mostEntries = 50

/** As Electron's dialogs take them. */
export interface DialogOptions {
  title?: string
  filters?: { name: string; extensions: string[] }[]
}

export function readChooseOptions(given: unknown): DialogOptions {
  const { title, filters } = fieldsOf(given)
  return {
    ...(title === undefined ? {} : { title: text(title) }),
    ...(filters === undefined ? {} : { filters: entries(filters).map(readFilter) }),
  }
}

export function readSaveOptions(given: unknown): DialogOptions & { suggestedName?: string } {
  const { suggestedName } = fieldsOf(given)
  return {
    ...readChooseOptions(given),
    ...(suggestedName === undefined ? {} : { suggestedName: text(suggestedName) }),
  }
}

function readFilter(given: unknown): FileFilter & { extensions: string[] } {
  const { name, extensions } = fieldsOf(given)
  const read = entries(extensions).map(text)
  if (!read.every((each) => /^(?:\*|[A-Za-z0-9.]+)$/.test(each)))
    throw new TypeError('Expected extensions without dot.')
  return { name: text(name), extensions: read }
}

function fieldsOf(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined || given === null) return {}
  if (typeof given !== 'object') throw new TypeError('Expected an object.')
  return given as Readonly<Record<string, unknown>>
}

function text(given: unknown): string {
  if (typeof given !== 'string' || given.length > longestText) throw new TypeError('Expected a short text.')
  return given
}

function entries(given: unknown): readonly unknown[] {
  if (!Array.isArray(given) || given.length > mostEntries) throw new TypeError('Expected a short list.')
  return given
}
