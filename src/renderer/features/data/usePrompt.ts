/** How prompts are made of a version, and the model they are shown with. */
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useSetting } from '#renderer/client/settings.ts'
import { detectedPrompt, userMessage } from '../../parts/promptForms.ts'
import { usePreparation } from '../../parts/useData.ts'

/** The prompt that runs on this version will have. */
export function usePrompt(opened: Opened) {
  const [preparation, change] = usePreparation(opened.version.id)
  const { shape, version } = opened
  // Where none is to be seen, the first column is as good a start as any.
  const detected =
    detectedPrompt(shape.prompt, version.columns) ?? userMessage(`{${version.columns[0]?.name ?? 'prompt'}}`)
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

/** A version that somebody looks at: what is known of it, what it seems to be, which rows of its file were left out. */
export type Opened = Answer<'datasets.version'>
