/** Decides how a model goes on after messages: for runs, commands, the server and workflows alike. */
import type { ChatTemplate, RenderOptions } from '#engine/text/chatTemplate.ts'
import type { ChatMessage } from '#shared/messages.ts'

/**
 * `begun` continues a last message by the assistant, and opens the assistant's turn after any other. `turn` always opens
 * one, as OpenAI's API does; `none` adds nothing to the messages.
 */
export type Opening = 'begun' | 'turn' | 'none'

/** Tools, variables and the time of a rendering; how it ends is decided here. */
type Given = Omit<RenderOptions, 'addGenerationPrompt' | 'continueFinalMessage'>

/**
 * The beginning of an answer that a prompt ends with, which the policy continues: a last message by the assistant, unless it
 * calls tools, which ends a turn. undefined where the answer begins anew.
 */
export function begunAnswer(messages: readonly ChatMessage[]): ChatMessage | undefined {
  const last = messages.at(-1)
  return last?.role === 'assistant' && !('tool_calls' in last) ? last : undefined
}

/** The prompt that messages make. Errors: those of the template. */
export function conversationText(
  messages: readonly ChatMessage[],
  template: Pick<ChatTemplate, 'render'>,
  given: Given = {},
  opening: Opening = 'begun',
): string {
  const begun = opening === 'begun' ? begunAnswer(messages) : undefined
  if (begun === undefined)
    return template.render(messages, { ...given, addGenerationPrompt: opening !== 'none' })
  if (begun.content === '')
    return template.render(messages.slice(0, -1), { ...given, addGenerationPrompt: true })
  return template.render(messages, { ...given, addGenerationPrompt: false, continueFinalMessage: true })
}
