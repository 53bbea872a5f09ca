import type { ChatTemplate } from '#engine/text/chatTemplate.ts'

type Renderer = Pick<ChatTemplate, 'render'>

/** The chat template with the run's own switches set in every rendering; null stays null. */
export function withSwitches(
  chatTemplate: Renderer | null,
  variables: Readonly<Record<string, string | number | boolean>>,
): Renderer | null {
  if (chatTemplate === null || Object.keys(variables).length === 0) return chatTemplate
  return {
    render: (messages, options) =>
      chatTemplate.render(messages, { ...options, variables: { ...variables, ...options.variables } }),
  }
}
