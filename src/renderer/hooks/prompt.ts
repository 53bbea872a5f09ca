/** How prompts are made of a version, and the model they are shown with. */
import type { Opened } from '../components/data/opened.ts'
import { parsePromptForm, type PromptForm } from '../components/data/preparation.ts'
import { useAnswer } from './api.tsx'
import { usePreparation } from './data.ts'
import { useSetting } from './settings.ts'

/** What was detected, where nobody decided; a text column is put in a user's message. */
function detectedPrompt({ shape, version }: Opened): PromptForm {
  const form = parsePromptForm(shape.prompt)
  const first = version.columns[0]?.name ?? 'prompt'
  if (form === null) return { messages: [{ role: 'user', content: `{${first}}` }] }
  if (!('column' in form)) return form
  const column = version.columns.find(({ name }) => name === form.column)
  const isText =
    column !== undefined && Object.keys(column.kinds).every((kind) => kind === 'text' || kind === 'null')
  return isText ? { messages: [{ role: 'user', content: `{${form.column}}` }] } : form
}

/** The prompt that runs on this version will have. */
export function usePrompt(opened: Opened) {
  const [preparation, change] = usePreparation(opened.version.id)
  const detected = detectedPrompt(opened)
  return { prompt: preparation.prompt ?? detected, detected, preparation, change }
}

/** The model that prompts are looked at with: the one chosen last, else the first there is. */
export function usePreviewModel(): readonly [string | null, (model: string) => void] {
  const { data: models } = useAnswer('models.list', undefined)
  const [chosen, choose] = useSetting<string | null>('data.model', null)
  const usable = models?.filter((model) => !('problem' in model))
  const known = usable?.find(({ name, directory }) => name === chosen || directory === chosen)
  return [known?.name ?? usable?.[0]?.name ?? null, choose]
}
