/** Prompt settings of a version, and the model used for previews. */
import { useAnswer, type Answer } from '#renderer/client/api.tsx'
import { useSetting } from '#renderer/client/settings.ts'
import { detectedPrompt, userMessage } from '#renderer/parts/promptForms.ts'
import { usePreparation } from '#renderer/parts/useData.ts'

/** Returns the prompt that runs on this version will use. */
export function usePrompt(opened: Opened) {
  const [preparation, change] = usePreparation(opened.version.id)
  const { shape, version } = opened
  // Starts from the first column if no prompt was detected.
  const detected =
    detectedPrompt(shape.prompt, version.columns) ?? userMessage(`{${version.columns[0]?.name ?? 'prompt'}}`)
  return { prompt: preparation.prompt ?? detected, detected, preparation, change }
}

/** Returns the model for previews: the last one chosen, else the first available. */
export function usePreviewModel(): readonly [string | null, (model: string) => void] {
  const { data: models } = useAnswer('models.list', undefined)
  const [chosen, choose] = useSetting<string | null>('data.model', null)
  const usable = models?.filter((model) => !('problem' in model))
  const known = usable?.find(({ name, directory }) => name === chosen || directory === chosen)
  return [known?.name ?? usable?.[0]?.name ?? null, choose]
}

/** Open version: its metadata, detected shape, and rows left out of its file. */
export type Opened = Answer<'datasets.version'>
