/** Observations as tokens: the first prompt, and what comes between one turn of the policy and the next. */
import type { ChatTemplate } from '#engine/text/chatTemplate.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import { conversationText } from './conversationText.ts'
import type { Observation } from './environment.ts'

export interface TurnTextOptions {
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>
  /** null if the model has none. */
  readonly chatTemplate: Pick<ChatTemplate, 'render'> | null
  /** false: observations are encoded as they are, without a template. */
  readonly applyChatTemplate: boolean
  /** True if a template that does not show where a turn ends is an error; otherwise ChatML is assumed. */
  readonly strictBoundary: boolean
}

export interface TurnText {
  /** The prompt of an episode's first turn. Errors: `data/invalid`, `tokenizer/invalid`. */
  opening(observation: Observation): { readonly text: string; readonly ids: Int32Array }
  /**
   * Returns the ids that follow a turn that ended with `lastId`: the end of the turn, the observation, and the opening
   * of the next turn. Errors: `tokenizer/invalid`.
   */
  feedback(observation: Observation, lastId: number): Int32Array
}

export function createTurnText(options: TurnTextOptions): TurnText {
  const { tokenizer, applyChatTemplate } = options
  const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
  const opening = (observation: Observation) => {
    const text = applyChatTemplate ? openingText(observation, options) : plainText(observation)
    return { text, ids: encode(text) }
  }
  const feedback = (observation: Observation, lastId: number) => {
    if (!applyChatTemplate) return encode(plainText(observation))
    const ids = encode(boundaryText(observation, options))
    // If the policy generated the end of its turn, it is already among the tokens and must not be repeated.
    const isTwice = ids.length > 1 && ids[0] === lastId && isSpecial(lastId, tokenizer)
    return isTwice ? ids.subarray(1) : ids
  }
  return { opening, feedback }
}

const messagesOf = (observation: Observation): readonly ChatMessage[] =>
  typeof observation === 'string' ? [{ role: 'user', content: observation }] : observation

const plainText = (observation: Observation): string =>
  messagesOf(observation)
    .map(({ content }) => content)
    .join('\n')

function openingText(observation: Observation, { chatTemplate }: TurnTextOptions): string {
  if (chatTemplate === null) {
    throw new AppError(
      'data/invalid',
      'The environment sends chat messages, but the model has no chat template.',
      'Use a model with a chat template, or set environment.applyChatTemplate to false.',
    )
  }
  return conversationText(messagesOf(observation), chatTemplate)
}

/** Placeholder of the policy's turn: a word that no template writes by itself and that trimming leaves intact. */
const placeholder = 'PLACEHOLDER-OF-THE-ASSISTANT-TURN'

/** Returns everything that the chat template writes between two assistant turns. */
function boundaryText(observation: Observation, options: TurnTextOptions): string {
  const found = renderedBoundary(observation, options)
  if (!(found instanceof AppError)) return found
  if (options.strictBoundary) throw found
  return `<|im_end|>\n<|im_start|>user\n${plainText(observation)}<|im_end|>\n<|im_start|>assistant\n`
}

/** Renders the boundary; begins with a user message, because many templates require it. */
function renderedBoundary(observation: Observation, { chatTemplate }: TurnTextOptions): string | AppError {
  const messages = [
    { role: 'user', content: '.' },
    { role: 'assistant', content: placeholder },
    ...messagesOf(observation),
  ]
  try {
    const text = chatTemplate === null ? '' : conversationText(messages, chatTemplate)
    const parts = text.split(placeholder)
    if (parts.length !== 2) return boundaryInvalid(`it writes an assistant message ${parts.length - 1} times`)
    return parts[1] === '' ? boundaryInvalid('it writes nothing after an assistant message') : parts[1]!
  } catch (error) {
    return boundaryInvalid('it does not accept conversations of several turns', error)
  }
}

const boundaryInvalid = (fault: string, cause?: unknown): AppError =>
  new AppError(
    'tokenizer/invalid',
    `The chat template does not show where a turn ends: ${fault}.`,
    'Set environment.strictBoundary to false if the model was trained on ChatML, or environment.applyChatTemplate to false.',
    cause,
  )

/** Returns true for a special token, one that decoding can leave out. */
const isSpecial = (id: number, tokenizer: TurnTextOptions['tokenizer']): boolean =>
  tokenizer.decode([id], { skipSpecialTokens: true }) === '' &&
  tokenizer.decode([id], { skipSpecialTokens: false }) !== ''
