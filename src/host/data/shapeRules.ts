/** Rules for the kinds of data sets: each recognises one, and proposes how a run reads it. */
import { isChatKind } from '#shared/columnKind.ts'
import { chatIn, waitsForAnswer } from '#shared/messages.ts'
import { answerConflicts } from './answerConflicts.ts'
import { begunDoubts, lastAnswerDoubts } from './assistantDoubts.ts'
import { choiceDoubts, hasChoices, modelsAnswer, rightAnswer } from './choices.ts'
import { type Columns, columnsNamed, isPromptKind, plainName } from './columnKinds.ts'
import { comparedAnswers, rankedAnswers, twoAnswers } from './comparedRules.ts'
import { numberIn } from './comparisons.ts'
import { isAnswered, type Mapping } from './mapping.ts'
import { isKtoName, isSureMarks, marksIn } from './marks.ts'
import { listDoubts } from './pairDoubts.ts'
import { marked } from './pairs.ts'
import { openAiPreference, preference } from './preferenceRules.ts'
import {
  asPrompt,
  chatsIn,
  chatStep,
  chatNames,
  questionNames,
  questionParts,
  rename,
  systemBeside,
  waits,
} from './promptParts.ts'
import type { Proposal } from './proposal.ts'

export type ShapeId =
  | 'verl'
  | 'preference'
  | 'compared-answers'
  | 'ranked-answers'
  | 'unpaired-preference'
  | 'stepwise'
  | 'prompt-completion'
  | 'prompt-answer'
  | 'prompt-only'
  | 'conversation'
  | 'instruction'
  | 'question-answer'
  | 'text'
  | 'unknown'

interface ShapeRule {
  readonly id: ShapeId
  readonly title: string
  /** null: these columns are not of this shape. */
  readonly detect: (columns: Columns) => Proposal | null
}

/** The first rule that fits decides: the narrower shapes stand first. */
export const rules: readonly ShapeRule[] = [
  { id: 'verl', title: 'verl (prompt, reward_model)', detect: verl },
  { id: 'preference', title: 'preference (chosen, rejected)', detect: preference },
  {
    id: 'preference',
    title: 'preference (preferred_output, non_preferred_output)',
    detect: openAiPreference,
  },
  { id: 'compared-answers', title: 'two answers, one of them preferred', detect: comparedAnswers },
  { id: 'ranked-answers', title: 'several answers, best to worst', detect: rankedAnswers },
  { id: 'unpaired-preference', title: 'completions marked as good or bad (KTO)', detect: unpaired },
  { id: 'stepwise', title: 'stepwise (prompt, completions, labels)', detect: stepwise },
  { id: 'prompt-completion', title: 'prompt and completion', detect: promptCompletion },
  { id: 'prompt-answer', title: 'prompt and answer', detect: (columns) => promptRead(columns, true) },
  { id: 'prompt-only', title: 'prompt only', detect: (columns) => promptRead(columns, false) },
  { id: 'conversation', title: 'conversations', detect: conversation },
  { id: 'instruction', title: 'instruction, input and output', detect: instruction },
  { id: 'question-answer', title: 'question and answer', detect: questionAnswer },
  { id: 'text', title: 'text', detect: plainText },
]

const promptColumn = { column: 'prompt' } as const

const definedOf = (name: string | undefined): string[] => (name === undefined ? [] : [name])

function verl(columns: Columns): Proposal | null {
  const prompt = columns.find(['prompt'], isPromptKind)
  const model = columns.find(['reward_model'], (kind) => kind === 'object')
  if (prompt === undefined || model === undefined) return null
  const path = `${model}.ground_truth`
  const { mapping, used, isConversational } = asPrompt(columns, prompt)
  return {
    evidence: columnsNamed(prompt, path),
    isConversational,
    prompt: promptColumn,
    answer: 'answer',
    used: [...used, model],
    mapping: [...mapping, { kind: 'column', from: path, to: 'answer' }],
    doubts: columns
      .values(model)
      .some((value) => typeof (value as { ground_truth?: unknown }).ground_truth === 'object')
      ? [`“${path}” is not text, so rewards that compare with a single answer cannot be used.`]
      : [],
  }
}

/**
 * Proposes marked completions. A number beside a response may be a class: there only what can be nothing but a mark
 * counts.
 */
function markedCompletion(columns: Columns): { readonly label?: string; readonly completion?: string } {
  const completion = columns.find(['completion'], isPromptKind)
  const label = marksIn(columns)
  if (completion !== undefined)
    return label === undefined || label === completion ? {} : { label, completion }
  const [response, sure] = [columns.find(['response'], isPromptKind), marksIn(columns, isSureMarks)]
  if (response !== undefined && sure !== undefined && sure !== response)
    return { label: sure, completion: response }
  return label === undefined ? {} : { label }
}

function unpaired(columns: Columns): Proposal | null {
  const { label, completion } = markedCompletion(columns)
  if (label === undefined) return null
  const chat = columns.find(chatNames, isChatKind)
  const prompt = columns.find(['prompt'], isPromptKind)
  const common = { prompt: promptColumn, answer: null }
  if (prompt !== undefined && completion !== undefined) {
    const { mapping, used, isConversational } = asPrompt(columns, prompt)
    const made = [...mapping, ...chatStep(columns, completion), ...rename(completion, 'completion')]
    return {
      ...common,
      evidence: columnsNamed(prompt, completion, label),
      ...marked(columns, label, made),
      isConversational,
      used: [...used, completion, label],
    }
  }
  const told = markedInstruction(columns, label)
  if (told !== null) return { ...told, ...marked(columns, label, told.mapping) }
  if (chat === undefined || !isSureMarks(columns, label) || !columns.values(chat).some(isAnswered))
    return null
  return {
    ...common,
    evidence: columnsNamed(chat, label),
    isConversational: true,
    ...marked(columns, label, takenApart(columns, chat)),
    used: [chat, label, ...systemBeside(columns, chat).used],
  }
}

/** Alpaca's columns with a mark, as LLaMA-Factory's KTO has them. */
function markedInstruction(columns: Columns, label: string): Proposal | null {
  const told = isKtoName(label) && isSureMarks(columns, label) ? instruction(columns) : null
  if (told?.answer !== 'answer') return null
  const [prompt] = told.prompt !== null && 'messages' in told.prompt ? told.prompt.messages : []
  const step: Mapping =
    prompt === undefined ? [] : [{ kind: 'messages', parts: [prompt.content.slice(1, -1)] }]
  const mapping = told.mapping.map((each) =>
    each.kind === 'column' && each.to === 'answer' ? { ...each, to: 'completion' } : each,
  )
  const isNamed = mapping.some((each) => each.kind === 'column' && each.to === 'completion')
  return {
    ...told,
    prompt: promptColumn,
    answer: null,
    used: [...told.used, label],
    isConversational: true,
    mapping: [...step, ...mapping, ...(isNamed ? [] : rename('answer', 'completion'))],
    evidence: `${told.evidence}, and by “${label}”`,
  }
}

const takenApart = (columns: Columns, column: string): Mapping => [
  { kind: 'last-message', column },
  ...systemBeside(columns, column).mapping,
]

function stepwise(columns: Columns): Proposal | null {
  const prompt = columns.find(['prompt'], (kind) => kind === 'text')
  const completions = columns.find(['completions'], (kind) => kind === 'texts')
  const marks = columns.find(['labels'], (kind) => kind === 'list')
  if (prompt === undefined || completions === undefined || marks === undefined) return null
  const { mapping, used, isConversational } = asPrompt(columns, prompt)
  return {
    evidence: columnsNamed(prompt, completions, marks),
    isConversational,
    mapping,
    prompt: promptColumn,
    answer: null,
    used: [...used, completions, marks],
    doubts: ['No algorithm here learns from marks of single steps, but runs can train on the prompts.'],
  }
}

function promptCompletion(columns: Columns): Proposal | null {
  const prompt = columns.find(['prompt'], isPromptKind)
  const completion = columns.find(['completion'], isPromptKind)
  if (prompt === undefined || completion === undefined) return null
  const { mapping, used, isConversational } = asPrompt(columns, prompt)
  return {
    evidence: columnsNamed(prompt, completion),
    isConversational,
    prompt: promptColumn,
    answer: 'completion',
    used: [...used, completion],
    doubts: [...listDoubts(columns, prompt, completion), ...textConflicts(columns, completion)],
    mapping: [...mapping, ...chatStep(columns, completion), ...rename(completion, 'completion')],
  }
}

/** A prompt with, or without, an answer to compare with. */
function promptRead(columns: Columns, hasAnswer: boolean): Proposal | null {
  const prompt = columns.find(['prompt'], isPromptKind)
  if (prompt === undefined || repeatsItsChat(columns, prompt)) return null
  if (isChatKind(columns.kind(prompt)) && !waits(columns, prompt)) return null
  const answer = expected(columns) ?? null
  if ((answer !== null) !== hasAnswer) return null
  const { mapping, used, isConversational } = asPrompt(columns, prompt)
  return {
    evidence: answer === null ? columnsNamed(prompt) : columnsNamed(prompt, answer),
    isConversational,
    prompt: promptColumn,
    used: [...used, ...definedOf(answer ?? undefined)],
    ...(answer === null
      ? { mapping, answer }
      : { mapping: [...mapping, ...rename(answer, 'answer')], answer: 'answer' }),
    doubts: [
      ...listDoubts(columns, prompt),
      ...begunDoubts(columns.rows, prompt, `the first ${columns.rows.length} rows`),
      ...choiceDoubts(mapping, columns),
      ...answerDoubts(columns, answer),
    ],
  }
}

/** Returns true if a prompt is the first message of a conversation in another column, as in no_robots and UltraChat. */
function repeatsItsChat(columns: Columns, prompt: string): boolean {
  const chat = columns.find(chatNames, isChatKind)
  if (chat === undefined) return false
  const repeated = columns.rows.filter((row) => {
    const first = chatIn(row[chat])?.find(({ role }) => role === 'user')
    return first !== undefined && first.content.trim() === String(row[prompt]).trim()
  })
  return 2 * repeated.length >= columns.rows.length
}

/**
 * Reads conversations: most end with an answer, which is taken off; or most wait for one and are prompts as they are.
 */
function conversation(columns: Columns): Proposal | null {
  const column = columns.find(chatNames, isChatKind) ?? listedInput(columns)
  if (column === undefined) return null
  const chats = chatsIn(columns, column)
  const answered = chats.filter((chat) => chat.at(-1)?.role === 'assistant').length
  const evidence = `${columnsNamed(column)}, whose conversations ${2 * answered >= chats.length ? 'end with an answer' : 'wait for an answer'}`
  const used = [column, ...systemBeside(columns, column).used]
  const common = { evidence, isConversational: true, prompt: promptColumn }
  if (2 * answered >= chats.length)
    return {
      ...common,
      used,
      answer: 'completion',
      mapping: takenApart(columns, column),
      doubts: [...lastAnswerDoubts(columns, column), ...lastConflicts(columns, column)],
    }
  if (2 * chats.filter((chat) => waitsForAnswer(chat.at(-1)?.role ?? '')).length < chats.length) return null
  const answer = expected(columns)
  const { mapping } = asPrompt(columns, column)
  return {
    ...common,
    used: [...used, ...definedOf(answer)],
    doubts: [],
    answer: answer === undefined ? null : 'answer',
    mapping: [...mapping, ...(answer === undefined ? [] : rename(answer, 'answer'))],
  }
}

/** OpenAI’s evals have the conversation as a list in `input`, with the answer in `ideal`. */
const listedInput = (columns: Columns): string | undefined => {
  const input = columns.find(['input'], isChatKind)
  return input !== undefined && columns.values(input).every(Array.isArray) ? input : undefined
}

/** Lists rows where the last message differs from the column with the expected answer. */
function lastConflicts(columns: Columns, full: string): string[] {
  const answer = rightAnswer(columns)
  if (answer === undefined) return []
  const textOf = (value: unknown) => {
    const last = chatIn(value)?.at(-1)
    return last?.role === 'assistant' ? last.content : null
  }
  const words = `the last message of “${full}”`
  return answerConflicts(columns, { expected: answer, full, textOf, words })
}

/** Lists rows where a text with the whole answer differs from the column with the expected one. */
function textConflicts(columns: Columns, full: string | undefined, answer = rightAnswer(columns)): string[] {
  if (full === undefined || answer === undefined || full === answer) return []
  const textOf = (value: unknown) => (typeof value === 'string' ? value : null)
  return answerConflicts(columns, { expected: answer, full, textOf, words: `“${full}”` })
}

/** Alpaca's three columns, with its system message and earlier turns where there are any. */
function instruction(columns: Columns): Proposal | null {
  const asked = columns.find(['instruction'], (kind) => kind === 'text')
  const from = columns.find(['output', 'response', 'answer', 'completion', 'target'])
  if (asked === undefined || from === undefined) return null
  const input = columns.find(['input'], (kind) => kind === 'text')
  if (input === undefined || columns.values(input).every((value) => value === ''))
    return textTask(columns, asked, from)
  const beside = questionParts(columns, asked)
  const step = beside?.mapping.find((each) => each.kind === 'messages') ?? {
    kind: 'messages' as const,
    parts: [asked],
  }
  return {
    evidence: columnsNamed(asked, input, from),
    isConversational: true,
    prompt: promptColumn,
    answer: 'answer',
    doubts: [],
    mapping: [{ ...step, parts: [...step.parts, input] }, ...rename(from, 'answer')],
    used: [...(beside?.used ?? [asked]), input, from],
  }
}

function questionAnswer(columns: Columns): Proposal | null {
  const chosenFrom = hasChoices(columns) ? ['goal', 'ctx', 'stem', 'sentence'] : []
  const question =
    columns.find(
      [...questionNames, ...chosenFrom, 'input', 'source', 'article', 'document', 'user'],
      (kind) => kind === 'text',
    ) ?? columns.find(['text'], (kind) => kind === 'text' && columns.find(['summary']) !== undefined)
  const answer = expected(columns) ?? columns.find(['summary', 'highlights', 'assistant', 'best'])
  return question === undefined || answer === undefined ? null : textTask(columns, question, answer)
}

function textTask(columns: Columns, question: string, answer: string): Proposal {
  const beside = questionParts(columns, question)
  const lists = columns.values(answer)
  const path = lists.every(isTextList) && lists.some(hasTexts) ? `${answer}.text.0` : answer
  const evidence = columnsNamed(question, path)
  const mapping = [...(beside?.mapping ?? []), ...rename(path, 'answer')]
  return {
    evidence,
    answer: 'answer',
    isConversational: beside !== null,
    mapping,
    prompt: beside === null ? { messages: [{ role: 'user', content: `{${question}}` }] } : promptColumn,
    used: [...(beside?.used ?? [question]), answer],
    doubts: [
      ...choiceDoubts(mapping, columns),
      ...(path === answer ? answerDoubts(columns, answer) : withoutTexts(columns, answer)),
    ],
  }
}

/** SQuAD's {text: […], answer_start: […]}. */
const isTextList = (value: unknown): value is { readonly text: readonly unknown[] } =>
  typeof value === 'object' && value !== null && Array.isArray((value as { text?: unknown }).text)

const hasTexts = (value: unknown): boolean => isTextList(value) && typeof value.text[0] === 'string'

/** SQuAD 2 has questions without an answer. */
function withoutTexts({ rows }: Columns, answer: string): string[] {
  const without = rows.filter((row) => !hasTexts(row[answer])).length
  return without === 0
    ? []
    : [
        `In ${without} of the first ${rows.length} rows “${answer}” is an empty list, as for SQuAD 2’s questions without an answer; they are left out when the columns are mapped.`,
      ]
}

/** The right answer; 0 or 1 as the label of two answers says which is better. */
function expected(columns: Columns): string | undefined {
  const answer = rightAnswer(columns)
  if (answer === undefined || plainName(answer) !== 'label' || twoAnswers(columns) === null) return answer
  const isMark = columns.values(answer).every((value) => [0, 1].includes(numberIn(value) ?? -1))
  return isMark ? undefined : answer
}

/** Writes sentences on answers that are somebody else’s, or that rewards can hardly compare with. */
function answerDoubts(columns: Columns, answer: string | null): string[] {
  if (answer === null) return []
  const replaced = modelsAnswer(columns)
  return [
    ...(replaced?.truth === answer
      ? [
          `“${answer}” is read as the right answer, since it differs from “${replaced.answer}”, which is read as a model’s and left aside.`,
        ]
      : []),
    ...comparisonDoubts(columns, answer),
    ...textConflicts(
      columns,
      columns.find(['solution'], (kind) => kind === 'text'),
      answer,
    ),
  ]
}

function comparisonDoubts(columns: Columns, answer: string): string[] {
  if (columns.values(answer).some((value) => typeof value === 'object'))
    return [`“${answer}” is not text, so rewards that compare with a single answer cannot be used.`]
  const texts = columns.values(answer).filter((value) => typeof value === 'string')
  const marked = texts.filter((text) => /####|\\boxed\s*\{/.test(text)).length
  return texts.length > 0 && 2 * marked >= texts.length
    ? [`“${answer}” holds whole solutions: rewards compare with what comes after #### or inside \\boxed{}.`]
    : []
}

function plainText(columns: Columns): Proposal | null {
  const text = columns.find(['text'], (kind) => kind === 'text')
  if (text === undefined) return null
  const evidence = columnsNamed(text)
  return {
    evidence,
    isConversational: false,
    mapping: [],
    prompt: null,
    answer: null,
    used: [text],
    doubts: ['No column says where a prompt ends and its answer begins.'],
  }
}
