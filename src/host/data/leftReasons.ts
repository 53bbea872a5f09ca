/** Explains why a proposal leaves a column aside. */
import { isChatKind } from '#shared/columnKind.ts'
import { type Columns, isEmpty, isPromptKind } from './columnKinds.ts'
import type { ReasonOf } from './leftColumns.ts'
import { type Part, promptParts } from './leftParts.ts'
import { contextNames, hasSystem, systemNames } from './promptParts.ts'
import type { Proposal } from './proposal.ts'

/** Reasons for parts that are neither in a prompt nor in an answer. */
const reasons: Partial<Readonly<Record<Part, string>>> = {
  weight: 'every row counts alike',
  margin: 'every pair counts alike',
  rating: 'no algorithm learns from it',
  number: 'no algorithm learns from it',
  comparison: 'its values do not say clearly which',
  order: 'no column of answers fits it',
  marks: 'called “label”, such marks beside “prompt” and “completion” make pairs',
  label: 'its values do not say which of these',
  language: 'the prompt does not name it',
  solution: 'rewards that want it read it by its name',
  text: 'its name does not say what it is for',
}

/** `proposal`: null where no rule recognises the columns. */
export const reasonsOf =
  (columns: Columns, proposal: Proposal | null): ReasonOf =>
  (column, part) => {
    if (promptParts.includes(part)) return promptReason(columns, { column, part }, proposal)
    if (part === 'question') return proposal === null ? null : wholePrompt(proposal)
    if (part === 'answer') return proposal === null ? null : answerReason(proposal)
    if (part.startsWith('better') || part.startsWith('worse')) return pairReason(columns, column, proposal)
    return reasons[part] ?? null
  }

interface Left {
  readonly column: string
  readonly part: Part
}

function promptReason(columns: Columns, left: Left, proposal: Proposal | null): string {
  if (isEmpty(columns, left.column)) return 'it is empty in every row'
  if (proposal === null || proposal.prompt === null) return noPrompt
  return (
    (isWhole(columns, proposal, left.part) ? null : formReason(columns, left, proposal)) ??
    wholePrompt(proposal)
  )
}

const noPrompt = 'no column is recognised as the prompt'

/** Returns true if nothing is put beside the prompt whatever its form: a conversation only gets its system message. */
function isWhole(columns: Columns, { mapping, used }: Proposal, part: Part): boolean {
  if (part === 'system') return false
  const made = mapping.some(({ kind }) => kind === 'messages')
  const chat = used.some((column) => isChatKind(columns.kind(column)))
  return !made && (chat || (part !== 'turns' && used.includes('prompt')))
}

/** Explains a column that would be read if it were written in another way, or if another column were not. */
function formReason(columns: Columns, { column, part }: Left, { used }: Proposal): string | null {
  const kind = columns.kind(column)
  if (part === 'system' && kind === 'text') return systemReason(columns, column, used)
  if (part === 'turns') return 'it holds neither conversations nor lists of two texts each'
  if (part === 'choices') return 'it does not hold lists of texts in every row'
  if (kind !== 'text') return `it holds ${kindWords[kind] ?? 'values'}, not texts`
  return part === 'about' ? otherReason(columns, column, { names: contextNames, used }) : null
}

function systemReason(columns: Columns, column: string, used: readonly string[]): string | null {
  const chat = used.find((name) => hasSystem(columns, name))
  return chat === undefined
    ? otherReason(columns, column, { names: systemNames, used })
    : `“${chat}” begins with a system message of its own`
}

/** Explains a column that is left because another one of the same meaning is read. */
function otherReason(
  columns: Columns,
  column: string,
  { names, used }: { readonly names: readonly string[]; readonly used: readonly string[] },
): string | null {
  const other = columns.find(names, (kind) => kind === 'text')
  return other !== undefined && other !== column && used.includes(other) ? `“${other}” is read for it` : null
}

const kindWords: Readonly<Record<string, string>> = {
  number: 'numbers',
  boolean: 'true and false',
  texts: 'lists of texts',
  list: 'lists',
  chat: 'conversations',
  'other-chat': 'conversations',
  object: 'objects, or values of several kinds',
}

/** `“messages” is read as the whole conversation` */
function wholePrompt({ mapping, prompt, used }: Proposal): string {
  if (prompt === null) return noPrompt
  const steps = mapping.flatMap((step): string[] => {
    if (step.kind === 'shared-prompt') return [`${named(used.slice(0, 2))} begin with the prompt`]
    if (step.kind === 'last-message') return [`“${step.column}” is read as the whole conversation`]
    if (step.kind === 'messages') return [`the prompt is made of ${named(step.parts)}`]
    return step.kind === 'column' && step.to === 'prompt'
      ? [`“${step.from}” is read as the whole prompt`]
      : []
  })
  return steps[0] ?? `“${nameIn(prompt)}” is read as the whole prompt`
}

function nameIn(prompt: NonNullable<Proposal['prompt']>): string {
  if ('column' in prompt) return prompt.column
  const text = 'template' in prompt ? prompt.template : (prompt.messages.at(-1)?.content ?? '')
  return text.replace(/^\{(.*)\}$/, '$1')
}

function answerReason({ mapping, answer, prompt }: Proposal): string {
  const taken = mapping.find(({ kind }) => kind === 'last-message')
  if (taken?.kind === 'last-message') return `“${taken.column}” ends with the answer`
  if (answer === null) return prompt === null ? noPrompt : 'pairs are learned from without it'
  const step = mapping.find((each) => each.kind === 'column' && each.to === answer)
  return `“${step?.kind === 'column' ? step.from : answer}” is read as the answer`
}

function pairReason(columns: Columns, column: string, proposal: Proposal | null): string {
  const kind = columns.kind(column)
  if (!isPromptKind(kind)) return `it holds ${kindWords[kind] ?? 'values'}, not one answer each`
  const pair = ['chosen', 'rejected'].map((name) => columns.find([name])).filter((name) => name !== undefined)
  return pair.length === 2 && pair.every((name) => proposal?.used.includes(name) === true)
    ? `${named(pair)} are read as the pair`
    : 'a pair needs “chosen” and “rejected”'
}

const named = (names: readonly string[]): string => names.map((name) => `“${name}”`).join(' and ')
