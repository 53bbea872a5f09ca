/** Titles of the columns of a conversation. */
import { useAnswer } from '#renderer/client/api.tsx'
import { choiceTitle, type ModelChoice } from '#renderer/client/modelChoice.ts'
import { useRuns } from '#renderer/client/runs.ts'
import { choiceOf, type Draft } from './conversation.ts'

export function useTitleOf(): (choice: ModelChoice) => string {
  const { data: models = [] } = useAnswer('models.list', undefined)
  const { runs } = useRuns()
  return (choice) => choiceTitle(choice, models, runs)
}

export function useColumnTitles(conversation: Pick<Draft, 'model' | 'columns'>): readonly string[] {
  const titleOf = useTitleOf()
  return conversation.columns.map((_, column) => titleOf(choiceOf(conversation, column)))
}
