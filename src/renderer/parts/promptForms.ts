/** Prompts as templates of columns: parsing, converting and editing them. */
import type { DataColumn } from './columnFacts.ts'
import { parsePromptForm, type PromptForm } from './preparation.ts'

const placeholder = /\{\{|\}\}|\{([^{}]+)\}/g

/** Names in braces, each once; doubled braces are literal. */
export const placeholders = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(placeholder)].flatMap(([, name]) => (name === undefined ? [] : [name]))),
]

export const withNames = (text: string, nameOf: (name: string) => string): string =>
  text.replace(placeholder, (match, name: string | undefined) =>
    name === undefined ? match : `{${nameOf(name)}}`,
  )

export const userMessage = (content: string): PromptForm => ({ messages: [{ role: 'user', content }] })

/**
 * Returns the prompt detected in a version's columns, or null. A text column becomes a user message: models trained to
 * chat need that, and the others report that they cannot.
 */
export function detectedPrompt(
  seen: unknown,
  columns: readonly Pick<DataColumn, 'name' | 'kinds'>[],
): PromptForm | null {
  const form = parsePromptForm(seen)
  if (form === null || !('column' in form)) return form
  const kinds = columns.find(({ name }) => name === form.column)?.kinds
  const isText = kinds !== undefined && Object.keys(kinds).every((kind) => kind === 'text' || kind === 'null')
  return isText ? userMessage(`{${form.column}}`) : form
}

export type FormKind = 'column' | 'template' | 'messages'

export function formKind(form: PromptForm): FormKind {
  if ('column' in form) return 'column'
  return 'template' in form ? 'template' : 'messages'
}

/** Converts a prompt to another form as far as possible. */
export function toKind(form: PromptForm, kind: FormKind, columns: readonly string[]): PromptForm {
  if (formKind(form) === kind) return form
  const text = textOf(form)
  if (kind === 'template') return { template: text }
  if (kind === 'messages') return userMessage(text)
  const named = placeholders(text).find((name) => columns.includes(name))
  return { column: named ?? columns[0] ?? 'prompt' }
}

function textOf(form: PromptForm): string {
  if ('column' in form) return `{${form.column}}`
  if ('template' in form) return form.template
  return form.messages
    .map(({ content }) => content)
    .filter(Boolean)
    .join('\n\n')
}

/** Describes errors that an editor can display but no run can read. */
export function promptProblem(form: PromptForm, columns: readonly string[]): string | null {
  const texts = 'messages' in form ? form.messages.map(({ content }) => content) : [textOf(form)]
  if (texts.some((text) => text.trim() === '')) return 'A text is empty.'
  const unknown = texts.flatMap(placeholders).filter((name) => !columns.includes(name))
  if (unknown.length > 0) return `There is no column “${unknown[0] ?? ''}”.`
  return texts.some((text) => placeholders(text).length > 0)
    ? null
    : 'No column is used: every prompt would be the same.'
}

/** Replaces the selection, with the cursor after the inserted text. */
export const insertAt = (
  text: string,
  added: string,
  { from, to }: { readonly from: number; readonly to: number },
): { text: string; cursor: number } => ({
  text: `${text.slice(0, from)}${added}${text.slice(to)}`,
  cursor: from + added.length,
})
