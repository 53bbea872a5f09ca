/** Changing the form of a prompt without losing what was written. */
import { placeholders } from './mappingForm.ts'
import type { PromptForm } from './preparation.ts'

export type FormKind = 'column' | 'template' | 'messages'

export function formKind(form: PromptForm): FormKind {
  if ('column' in form) return 'column'
  return 'template' in form ? 'template' : 'messages'
}

/** The same prompt said in another form, as far as that can be. */
export function toKind(form: PromptForm, kind: FormKind, columns: readonly string[]): PromptForm {
  if (formKind(form) === kind) return form
  const text = textOf(form)
  if (kind === 'template') return { template: text }
  if (kind === 'messages') return { messages: [{ role: 'user', content: text }] }
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

/** What the fields of an editor may show though no run could read it. */
export function promptProblem(form: PromptForm, columns: readonly string[]): string | null {
  const texts = 'messages' in form ? form.messages.map(({ content }) => content) : [textOf(form)]
  if (texts.some((text) => text.trim() === '')) return 'A text is empty.'
  const unknown = texts.flatMap(placeholders).filter((name) => !columns.includes(name))
  if (unknown.length > 0) return `There is no column «${unknown[0] ?? ''}».`
  return texts.some((text) => placeholders(text).length > 0)
    ? null
    : 'No column is used: every prompt would be the same.'
}

interface Selection {
  readonly from: number
  readonly to: number
}

/** Replaces what is selected; the cursor stands behind what was put in. */
export const insertAt = (
  text: string,
  added: string,
  { from, to }: Selection,
): { text: string; cursor: number } => ({
  text: `${text.slice(0, from)}${added}${text.slice(to)}`,
  cursor: from + added.length,
})
