/** Answers questions about texts (textQuestion.ts), in a process that may be ended at any time. */
import type { Tools } from '#host/processes/job.ts'
import { packError } from '#host/processes/messages.ts'
import type { FromText, TextQuestion, TemplateInput, TextAnswers } from './textQuestion.ts'
import { conversationText } from '#rl/rollout/conversationText.ts'
import { withSwitches } from '#rl/rollout/prompts.ts'
import { invalidData } from '#shared/errors.ts'
import { createStreamingDecoder } from '#engine/text/streamingDecode.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { previewPrompts, promptLength, type PreviewModel } from '#host/data/preview.ts'
import { encodeQuestion } from './completing.ts'
import { loadTokenizer, type LoadedTokenizer } from './tokenizerFolder.ts'

/** Answers one question after the other; never resolves. */
export async function answerAboutTexts(
  _: null,
  { say, onOrder }: Tools<FromText, TextQuestion>,
): Promise<void> {
  onOrder((question) => void say(answerTo(question)))
  await say({ type: 'ready' })
  await new Promise<never>(() => undefined)
}

function answerTo(question: TextQuestion): FromText {
  try {
    return { type: 'answer', answer: answerAboutText(question) }
  } catch (error) {
    return { type: 'refused', error: packError(error) }
  }
}

type Asked<Type extends TextQuestion['type']> = TextQuestion & { readonly type: Type }

/** Errors: AppError 'tokenizer/invalid', 'file/unreadable', 'data/invalid'. */
function answerAboutText(question: TextQuestion): TextAnswers[TextQuestion['type']] {
  const model = openText(question.directory)
  switch (question.type) {
    case 'describe':
      return { hasChatTemplate: model.chatTemplate !== null, notes: model.notes ?? [] }
    case 'tokenize':
      return tokenize(model, question)
    case 'token-texts':
      return tokenTexts(model.tokenizer, question.ids)
    case 'render-chat':
      return renderChat(model, question)
    case 'encode':
      return question.prompts.map((prompt) => encodeQuestion(prompt, model, new Date()))
    case 'preview':
      return previewPrompts(
        question.rows,
        question.form,
        withTemplate(model, question.template),
        question.from,
      )
    case 'lengths':
      return lengths(model, question)
  }
}

const maxKept = 2
const kept = new Map<string, LoadedTokenizer>()

/** Keeps the last two: reading a large one takes a second, and two fit into the limit of the job. */
function openText(directory: string): LoadedTokenizer {
  const text = kept.get(directory) ?? loadTokenizer(directory)
  kept.delete(directory)
  kept.set(directory, text)
  const [oldest] = kept.keys()
  if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
  return text
}

function tokenize({ tokenizer }: LoadedTokenizer, { text }: Asked<'tokenize'>): TextAnswers['tokenize'] {
  const ids = tokenizer.encode(text, { addSpecialTokens: false })
  const parts = tokenTexts(tokenizer, ids)
  return Array.from(ids, (id, at) => ({ id, text: parts[at] ?? '' }))
}

/**
 * Returns what each token adds to the text; joined they are the text. Empty for all but the last token of a character.
 */
function tokenTexts(tokenizer: Tokenizer, ids: Iterable<number>): string[] {
  const decoder = createStreamingDecoder(tokenizer, { skipSpecialTokens: false })
  const texts = Array.from(ids, (id) => decoder.push(id))
  const rest = decoder.finish()
  if (texts.length > 0) texts.push(`${texts.pop() ?? ''}${rest}`)
  return texts
}

function renderChat({ chatTemplate }: LoadedTokenizer, { messages }: Asked<'render-chat'>): string {
  if (chatTemplate === null) throw invalidData('The model has no chat template.')
  return conversationText(messages, chatTemplate, { now: new Date() })
}

function lengths(model: LoadedTokenizer, { rows, from, form, template }: Asked<'lengths'>) {
  const measure = { form, model: withTemplate(model, template) }
  return rows.map((row, at) => promptLength(row, from + at, measure))
}

/** The text side as a run with these settings has it. */
const withTemplate = (
  { tokenizer, chatTemplate }: LoadedTokenizer,
  { tools, templateVariables = {} }: TemplateInput,
): PreviewModel => ({
  tokenizer,
  chatTemplate: withSwitches(chatTemplate, templateVariables),
  tools: tools ?? null,
})
