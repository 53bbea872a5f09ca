/** Dialogues written as one text, as Anthropic's HH-RLHF has them: `\n\nHuman: …\n\nAssistant: …`. */
import type { ChatMessage } from '#shared/messages.ts'

const turnMark = /\n\n(Human|Assistant):/g
const answerMark = '\n\nAssistant:'

/** Returns true if a text begins with a human's turn and has an answer. */
export const isDialogue = (text: string): boolean => /^\s*Human:/.test(text) && text.includes(answerMark)

/** Returns true if a text is nothing but a dialogue that waits for its answer, as in Nectar. */
export const isDialoguePrompt = (text: string): boolean =>
  isDialogue(text) && text.trimEnd().endsWith('Assistant:')

/** The messages of a dialogue that waits for its answer; null for any other text. */
export function waitingDialogue(text: string): readonly ChatMessage[] | null {
  if (!isDialoguePrompt(text)) return null
  return turnsOf(text.slice(0, text.lastIndexOf(answerMark)))
}

export interface DialoguePrompt {
  readonly messages: readonly ChatMessage[]
  /** Number of characters before the answers. */
  readonly end: number
}

/** The beginning that two dialogues share, up to the last answer's mark; null if they share no question. */
export function dialoguePrompt(a: string, b: string): DialoguePrompt | null {
  if (!isDialogue(a) || !isDialogue(b)) return null
  let same = 0
  while (same < a.length && a[same] === b[same]) same++
  const mark = a.slice(0, same).lastIndexOf(answerMark)
  if (mark < 0) return null
  return { messages: turnsOf(a.slice(0, mark)), end: mark + answerMark.length }
}

/** The answer behind the prompt; null if further turns follow. */
export function dialogueAnswer(text: string, end: number): string | null {
  const answer = text.slice(end)
  return answer.search(turnMark) >= 0 ? null : answer.trim()
}

function turnsOf(text: string): ChatMessage[] {
  const marked = text.startsWith('\n\n') ? text : `\n\n${text.trimStart()}`
  const marks = [...marked.matchAll(turnMark)]
  return marks.map((mark, index) => {
    const start = mark.index + mark[0].length
    const content = marked.slice(start, marks[index + 1]?.index ?? marked.length).trim()
    return { role: mark[1] === 'Human' ? 'user' : 'assistant', content }
  })
}
