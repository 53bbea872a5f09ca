/**
 * User's choices for turning a file's columns into what runs read: prompt, expected answer, columns to keep and their
 * names. `mappingOf` converts it to the steps that the host performs, `promptOf` to the prompt of a run's settings,
 * `formOf` reads both back from what was detected.
 */
import { answerColumns } from '#shared/api/datasets.ts'
import type { Answer } from '#renderer/client/api.tsx'
import type { ColumnFacts } from '#renderer/parts/columnFacts.ts'
import type { PromptForm } from '#renderer/parts/preparation.ts'
import { placeholders, userMessage, withNames } from '#renderer/parts/promptForms.ts'

export type Shape = Answer<'datasets.inspect'>['shape']

export type MappingStep =
  | { readonly kind: 'column'; readonly from: string; readonly to: string }
  | { readonly kind: 'last-message' | 'drop'; readonly column: string }
  | { readonly kind: 'shared-prompt' }
  | MessagesStep
  | OtherStep

/** Proposed steps that are taken over unchanged. */
export type OtherStep =
  | { readonly kind: 'system'; readonly column: string }
  | {
      readonly kind: 'choices'
      readonly column: string
      readonly answer: string | null
      readonly first: number
      /** Columns with one choice each, which become `column`. */
      readonly from?: readonly string[]
    }
  | { readonly kind: 'pairs'; readonly label: string }
  /** Conversation in an unusual form, such as a dialogue in one text. */
  | { readonly kind: 'chat' | 'only-text'; readonly column: string }
  | PairStep

/** Builds `chosen` and `rejected` from columns, which it removes. */
type PairStep =
  | { readonly kind: 'compare'; readonly answers: readonly string[]; readonly by: unknown }
  | { readonly kind: 'ranked'; readonly column: string; readonly [field: string]: unknown }

type MessagesStep = {
  readonly kind: 'messages'
  readonly parts: readonly string[]
  readonly system?: string
  readonly history?: string
  readonly begun?: string
}

export interface ColumnChoice {
  readonly name: string
  readonly to: string
  readonly isKept: boolean
}

export type PromptSource =
  | { readonly kind: 'column'; readonly column: string }
  | { readonly kind: 'template'; readonly text: string }
  | { readonly kind: 'none' }

/** Step that builds `prompt` from a conversation without its answer, or from several columns. */
export type Taking =
  | { readonly kind: 'last-message'; readonly column: string }
  | { readonly kind: 'shared-prompt' }
  | MessagesStep

export interface MappingForm {
  readonly taking: Taking | null
  /** Steps proposed for the columns that `taking` reads. */
  readonly others: readonly OtherStep[]
  /** Detected choice, for resetting. */
  readonly proposed: { readonly taking: Taking | null; readonly others: readonly OtherStep[] }
  /** Source of the prompt: names in the file, or those that `taking` creates. */
  readonly prompt: PromptSource
  /** Wraps text in a user message, so that the model's chat template applies. */
  readonly asMessage: boolean
  /** Column, or dotted path into one; null: none. */
  readonly answer: string | null
  readonly columns: readonly ColumnChoice[]
}

/** Default column of rewards. */
export const answerName = 'answer'

/** Returns the columns after a conversation was split, from which prompts and answers are chosen. */
export function sourceColumns(
  form: Pick<MappingForm, 'taking' | 'others'>,
  facts: readonly ColumnFacts[],
): ColumnFacts[] {
  const { taking, others } = form
  const made = (name: string, kind: 'chat' | 'text') => ({ name, kind, paths: [] })
  const becomesChat = ({ name, kind }: ColumnFacts) =>
    kind === 'other-chat' || others.some((step) => step.kind === 'chat' && step.column === name)
  const [paired, merged] = [pairedColumns(form), mergedColumns(form)]
  const asChat = [
    ...facts
      .filter(({ name }) => !merged.includes(name))
      .map((column) => (becomesChat(column) ? { ...column, kind: 'chat' as const } : column)),
    ...(paired.length === 0 ? [] : [made('chosen', 'text'), made('rejected', 'text')]),
  ]
  if (taking === null) return asChat
  if (taking.kind !== 'last-message')
    return [made('prompt', 'chat'), ...asChat.filter(({ name }) => name !== 'prompt')]
  const rest = asChat.filter(({ name }) => !['prompt', 'completion', taking.column].includes(name))
  return [made('prompt', 'chat'), made('completion', 'text'), ...rest]
}

/** Returns columns that are merged into others and removed. */
export const mergedColumns = (form: Pick<MappingForm, 'others'>): readonly string[] => [
  ...pairedColumns(form),
  ...form.others.flatMap((step) => (step.kind === 'choices' ? (step.from ?? []) : [])),
]

/** Returns columns whose answers become `chosen` and `rejected`. */
const pairedColumns = ({ others }: Pick<MappingForm, 'others'>): readonly string[] =>
  others.flatMap((step) =>
    step.kind === 'compare' ? step.answers : step.kind === 'ranked' ? [step.column] : [],
  )

function finalName(form: MappingForm, name: string): string {
  if (name === form.answer && renamesAnswer(form)) return answerName
  return form.columns.find((column) => column.name === name)?.to ?? name
}

/** True if the answer is renamed. One cut out of a conversation keeps its name, which demonstrations look for. */
const renamesAnswer = ({ answer }: MappingForm): boolean =>
  answer !== null && answer !== answerName && answer !== 'completion'

export function mappingOf(form: MappingForm, facts: readonly ColumnFacts[]): MappingStep[] {
  const { taking, answer, columns, others } = form
  const kept = new Set(columns.filter(({ isKept }) => isKept).map(({ name }) => name))
  const gone = new Set([...(taking?.kind === 'last-message' ? [taking.column] : []), ...mergedColumns(form)])
  const isNeeded = (name: string) => kept.has(name) || gone.has(name)
  const chats = facts.filter(({ name, kind }) => kind === 'other-chat' && isNeeded(name))
  const renamed = columns.filter(
    ({ name, to, isKept }) =>
      isKept && !gone.has(name) && to !== name && !(name === answer && renamesAnswer(form)),
  )
  const dropped = columns.filter(({ name, isKept }) => !isKept && !gone.has(name) && name !== answer)
  const isFirst = taking !== null && taking.kind !== 'shared-prompt'
  const after = others.map((step) => withFinalNames(step, (name) => finalName(form, name)))
  return [
    ...chats.map(({ name }): MappingStep => ({ kind: 'chat', column: name })),
    ...others.filter(({ kind }) => firstKinds.includes(kind)),
    ...(isFirst ? [taking] : []),
    ...(answer !== null && renamesAnswer(form)
      ? [{ kind: 'column' as const, from: answer, to: answerName }]
      : []),
    ...renamed.map(({ name, to }): MappingStep => ({ kind: 'column', from: name, to })),
    ...(taking === null || isFirst ? [] : [taking]),
    ...after.filter(({ kind }) => !firstKinds.includes(kind)),
    ...dropped.map(({ name }): MappingStep => ({ kind: 'drop', column: name })),
  ]
}

/** Steps that read columns under their names in the file. */
const firstKinds: readonly OtherStep['kind'][] = ['choices', 'chat', 'only-text', 'compare', 'ranked']

const withFinalNames = (step: OtherStep, final: (name: string) => string): OtherStep => {
  if (step.kind === 'system') return { ...step, column: final(step.column) }
  return step.kind === 'pairs' ? { ...step, label: final(step.label) } : step
}

/** Returns `data.prompt` of a run config, with the names after the mapping; null: none. */
export function promptOf(form: MappingForm, facts: readonly ColumnFacts[]): PromptForm | null {
  const { prompt, asMessage } = form
  if (prompt.kind === 'none') return null
  if (prompt.kind === 'column') {
    const name = finalName(form, prompt.column)
    const isChat = sourceColumns(form, facts).find((column) => column.name === prompt.column)?.kind === 'chat'
    return isChat || !asMessage ? { column: name } : userMessage(`{${name}}`)
  }
  const text = withNames(prompt.text, (name) => finalName(form, name))
  return asMessage ? userMessage(text) : { template: text }
}

export function formOf(shape: Shape, facts: readonly ColumnFacts[]): MappingForm {
  const steps = shape.mapping as unknown as readonly MappingStep[]
  const taking = steps.find((step): step is Taking => takingKinds.includes(step.kind)) ?? null
  const kinds = new Map(facts.map(({ name, kind }) => [name, kind]))
  const others = steps.filter(
    (step): step is OtherStep =>
      otherKinds.includes(step.kind) || (step.kind === 'chat' && kinds.get(step.column) === 'text'),
  )
  const moves = steps.filter((step) => step.kind === 'column')
  const before = (name: string) => moves.find(({ to }) => to === name)?.from ?? name
  const answer = shape.answer === null ? null : before(shape.answer)
  const columns = facts.map(({ name }): ColumnChoice => {
    const to = moves.find(({ from }) => from === name && from !== answer)?.to
    return { name, to: to ?? name, isKept: true }
  })
  const prompt = sourceOf(shape.prompt as PromptForm | null, before)
  return { taking, others, proposed: { taking, others }, prompt, asMessage: true, answer, columns }
}

const takingKinds: readonly MappingStep['kind'][] = ['last-message', 'shared-prompt', 'messages']
const otherKinds: readonly MappingStep['kind'][] = [
  'system',
  'choices',
  'pairs',
  'only-text',
  'compare',
  'ranked',
]

function sourceOf(prompt: PromptForm | null, before: (name: string) => string): PromptSource {
  if (prompt === null) return { kind: 'none' }
  if ('column' in prompt) return { kind: 'column', column: before(prompt.column) }
  const text = 'template' in prompt ? prompt.template : (prompt.messages.at(-1)?.content ?? '')
  const named = withNames(text, before)
  const [, only] = /^\{([^{}]+)\}$/.exec(named) ?? []
  return only === undefined ? { kind: 'template', text: named } : { kind: 'column', column: only }
}

/** Splits conversations or leaves them whole, adapting prompt and answer. */
export function withTaking(
  form: MappingForm,
  taking: Taking | null,
  facts: readonly ColumnFacts[],
): MappingForm {
  const isProposed = JSON.stringify(taking) === JSON.stringify(form.proposed.taking)
  const next = { ...form, taking, others: isProposed ? form.proposed.others : [] }
  const names = sourceColumns(next, facts).map(({ name }) => name)
  if (taking !== null) {
    const answer =
      taking.kind === 'last-message' ? 'completion' : taking.kind === 'messages' ? form.answer : null
    return { ...next, prompt: { kind: 'column', column: 'prompt' }, answer }
  }
  const isThere = (name: string | undefined) =>
    name !== undefined && names.includes(name.split('.')[0] ?? name)
  const detected = answerColumns.find((name) => isThere(name)) ?? null
  const answer = isThere(form.answer ?? undefined) ? form.answer : detected
  return { ...next, prompt: promptLeftWhole(form, isThere), answer }
}

/** Uses a conversation no longer split as the prompt. */
function promptLeftWhole(
  { prompt, taking }: MappingForm,
  isThere: (name: string | undefined) => boolean,
): PromptSource {
  if (prompt.kind !== 'column' || isThere(prompt.column)) return prompt
  const whole = taking?.kind === 'last-message' ? taking.column : undefined
  return whole !== undefined && isThere(whole) ? { kind: 'column', column: whole } : { kind: 'none' }
}

/** Returns sentences on what must change before an import makes sense. */
export function formProblems(form: MappingForm): readonly string[] {
  const names = form.columns
    .filter(({ name, isKept }) => isKept || name === form.answer)
    .map(({ name }) => finalName(form, name))
  const added = form.answer?.includes('.') === true && !names.includes(form.answer) ? [answerName] : []
  const all = [...names, ...added]
  const twice = [...new Set(all.filter((name, at) => all.indexOf(name) !== at))]
  return [
    ...(names.some((name) => name.trim() === '') ? ['One column has no name.'] : []),
    ...twice.map((name) => `Two columns would be called “${name}”. Rename one or leave it out.`),
    ...(form.columns.some(({ isKept }) => isKept) ? [] : ['No column is kept.']),
    ...promptColumns(form)
      .filter((name) =>
        form.columns.some((column) => column.name === name && !column.isKept && name !== form.answer),
      )
      .map((name) => `The prompt needs “${name}”, which is left out.`),
  ]
}

export function promptColumns({ prompt }: Pick<MappingForm, 'prompt'>): readonly string[] {
  if (prompt.kind === 'column') return [prompt.column]
  return prompt.kind === 'template' ? placeholders(prompt.text) : []
}
