/** Observations as tokens: the first prompt, and what comes between one turn of the policy and the next. */
import type { ChatTemplate } from '#engine/text/chatTemplate.ts'
import {
  type CalledAnswer,
  type OfferedTools,
  offeredTools,
  requireToolForm,
} from '#engine/text/toolCalls.ts'
import type { Completion, GenerateOptions } from '#engine/policy.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import { conversationText } from './conversationText.ts'
import type { Observation } from './environment.ts'
import { calledAnswer } from './rollout.ts'

export interface TurnTextOptions {
  readonly tokenizer: Pick<Tokenizer, 'encode' | 'decode'>
  /** null if the model has none. */
  readonly chatTemplate: ChatTemplate | null
  /** false: observations are encoded as they are, without a template. */
  readonly applyChatTemplate: boolean
  /** True if a template that does not show where a turn ends is an error; otherwise ChatML is assumed. */
  readonly strictBoundary: boolean
}

export interface TurnText {
  /** The prompt of an episode's first turn, with the functions that it offers. Errors: `data/invalid`, `tokenizer/invalid`. */
  opening(
    observation: Observation,
    tools?: readonly unknown[],
  ): { readonly text: string; readonly ids: Int32Array; readonly offered: OfferedTools | null }
  /** Reads the text of a turn and its calls of the functions that the first prompt offered; null: it calls none. */
  calls(completion: Completion, generate: GenerateOptions, offered: OfferedTools): CalledAnswer | null
  /**
   * Returns the ids that follow a turn that ended with `lastId`: the end of the turn, the observation, and the opening
   * of the next turn. Errors: `tokenizer/invalid`.
   */
  feedback(observation: Observation, lastId: number): Int32Array
}

export function createTurnText(options: TurnTextOptions): TurnText {
  const { tokenizer, applyChatTemplate } = options
  const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
  const opening = (observation: Observation, tools?: readonly unknown[]) => {
    if (tools !== undefined && !applyChatTemplate) throw withoutTemplate
    const text = applyChatTemplate ? openingText(observation, options, tools) : plainText(observation)
    const offered = tools === undefined ? null : offeredTools(options.chatTemplate, tools, text.slice(-40))
    return { text, ids: encode(text), offered }
  }
  const feedback = (observation: Observation, lastId: number) => {
    if (!applyChatTemplate) return encode(plainText(observation))
    const ids = encode(boundaryText(observation, options))
    // If the policy generated the end of its turn, it is already among the tokens and must not be repeated.
    const isTwice = ids.length > 1 && ids[0] === lastId && isSpecial(lastId, tokenizer)
    return isTwice ? ids.subarray(1) : ids
  }
  const calls: TurnText['calls'] = (completion, generate, offered) =>
    calledAnswer(completion, generate, offered, tokenizer)
  return { opening, feedback, calls }
}

const withoutTemplate = new AppError(
  'data/invalid',
  'The environment offers tools, which only the chat template can write.',
  'Set environment.applyChatTemplate to true.',
)

const messagesOf = (observation: Observation): readonly ChatMessage[] =>
  typeof observation === 'string' ? [{ role: 'user', content: observation }] : observation

const plainText = (observation: Observation): string =>
  messagesOf(observation)
    .map(({ content }) => content)
    .join('\n')

function openingText(
  observation: Observation,
  { chatTemplate }: TurnTextOptions,
  tools?: readonly unknown[],
): string {
  if (chatTemplate === null) {
    throw new AppError(
      'data/invalid',
      'The environment sends chat messages, but the model has no chat template.',
      'Use a model with a chat template, or set environment.applyChatTemplate to false.',
    )
  }
  if (tools !== undefined) requireToolForm(chatTemplate)
  return conversationText(messagesOf(observation), chatTemplate, tools && { tools })
}

/** Placeholder of the policy's turn: a word that no template writes by itself and that trimming leaves intact. */
const placeholder = 'PLACEHOLDER-OF-THE-ASSISTANT-TURN'

/** Returns everything that the chat template writes between two assistant turns. */
function boundaryText(observation: Observation, options: TurnTextOptions): string {
  const found = renderedBoundary(observation, options)
  if (!(found instanceof AppError)) return found
  if (options.strictBoundary || hasResults(observation)) throw found
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
    if (hasResults(observation) && !showsResults(text, observation))
      return boundaryInvalid('it leaves out the results of tools where it did not write the call itself')
    if (parts.length !== 2) return boundaryInvalid(`it writes an assistant message ${parts.length - 1} times`)
    return parts[1] === '' ? boundaryInvalid('it writes nothing after an assistant message') : parts[1]!
  } catch (error) {
    return boundaryInvalid('it does not accept conversations of several turns', error)
  }
}

const hasResults = (observation: Observation): boolean =>
  typeof observation !== 'string' && observation.some(({ role }) => role === 'tool')

/** Some templates write results behind the calls of the message before alone. */
const showsResults = (text: string, observation: Observation): boolean =>
  messagesOf(observation).every(
    ({ content }) => text.includes(content) || text.includes(JSON.stringify(content).slice(1, -1)),
  )

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
